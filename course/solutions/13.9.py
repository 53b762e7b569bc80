witnesses = {
    "(a + b) - a is b": (1024.0, 0.25),
    "(a + b) + c is a + (b + c)": (1.0, 2048.0, -2048.0),
    "a / b is a * (1 / b)": (5.0, 3.0),
    "a * b + a * c is a * (b + c)": (256.0, 256.0, -256.0),
    "0 - a is -a": (0.0,),
    "not a >= b is a < b": (math.nan, 1.0),
}
