import { useSyncExternalStore } from 'react'

/** A value outside of React that components can follow. */
export class Signal<T> {
  private current: T
  private readonly followers = new Set<() => void>()

  constructor(first: T) {
    this.current = first
  }

  get value(): T {
    return this.current
  }

  set(next: T): void {
    if (Object.is(next, this.current)) return
    this.current = next
    for (const tell of this.followers) tell()
  }

  readonly follow = (tell: () => void): (() => void) => {
    this.followers.add(tell)
    return () => this.followers.delete(tell)
  }
}

export function useSignal<T>(signal: Signal<T>): T {
  return useSyncExternalStore(signal.follow, () => signal.value)
}
