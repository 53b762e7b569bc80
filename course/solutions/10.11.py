trained = model
