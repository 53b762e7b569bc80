// What a learner has done, kept in this browser: the database "tutor" of IndexedDB.
// "files" has the folder with my_tutor/ and progress.txt, a path and its bytes an entry;
// "cells" has the cells that were edited, by chapter and id.

let opened = null;

function database() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("tutor", 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore("files");
      request.result.createObjectStore("cells");
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

function finished(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
}

/** All entries of a store whose keys begin with `start`, as a Map. */
export async function read(store, start = "") {
  const transaction = (await database()).transaction(store, "readonly");
  const range = IDBKeyRange.bound(start, start + "\uffff");
  const keys = transaction.objectStore(store).getAllKeys(range);
  const values = transaction.objectStore(store).getAll(range);
  await finished(transaction);
  return new Map(keys.result.map((key, n) => [key, values.result[n]]));
}

/** Enter these [key, value] pairs and remove those keys, all of it or nothing. */
export async function write(store, entries, removed = []) {
  const transaction = (await database()).transaction(store, "readwrite");
  const target = transaction.objectStore(store);
  for (const [key, value] of entries) target.put(value, key);
  for (const key of removed) target.delete(key);
  await finished(transaction);
}
