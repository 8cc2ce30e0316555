import { useSyncExternalStore } from 'react'

const PHONE = window.matchMedia('(width < 40rem)')

function follow(tell: () => void): () => void {
  PHONE.addEventListener('change', tell)
  return () => PHONE.removeEventListener('change', tell)
}

/** Whether the window is as narrow as a phone, where rows become cards. */
export function useIsPhone(): boolean {
  return useSyncExternalStore(follow, () => PHONE.matches)
}
