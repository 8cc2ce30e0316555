import { useSyncExternalStore } from 'react'

/** A phone, and a tablet on which the rail leaves as little room. */
const NARROW = window.matchMedia('(width < 40rem) or (48rem <= width < 56rem)')

function follow(tell: () => void): () => void {
  NARROW.addEventListener('change', tell)
  return () => NARROW.removeEventListener('change', tell)
}

/** Whether the page is so narrow that rows become cards. */
export function useHasCards(): boolean {
  return useSyncExternalStore(follow, () => NARROW.matches)
}
