/** What this browser was told under this name; null when it was told nothing, or keeps nothing. */
export function getLocalItem(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

/** Keeps a mark in this browser, or with null forgets it. Where storage is forbidden it holds for this page only. */
export function setLocalItem(name: string, mark: string | null): void {
  try {
    if (mark === null) localStorage.removeItem(name)
    else localStorage.setItem(name, mark)
  } catch {
    // Nothing is kept then.
  }
}
