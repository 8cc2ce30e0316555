/** The value stored in this browser under this name; null if there is none or storage is not allowed. */
export function getLocalItem(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

/** Stores a value in this browser, or removes it if it is null. Without storage it lasts only for this page. */
export function setLocalItem(name: string, mark: string | null): void {
  try {
    if (mark === null) localStorage.removeItem(name)
    else localStorage.setItem(name, mark)
  } catch {
    // Storage is not allowed.
  }
}
