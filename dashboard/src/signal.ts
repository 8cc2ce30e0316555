import { useSyncExternalStore } from 'react'

/** A value outside of React that components can follow. */
export class Signal<T> {
  private current: T
  private readonly listeners = new Set<() => void>()

  constructor(initial: T) {
    this.current = initial
  }

  get value(): T {
    return this.current
  }

  set(next: T): void {
    if (Object.is(next, this.current)) return
    this.current = next
    for (const listener of this.listeners) listener()
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}

export function useSignal<T>(signal: Signal<T>): T {
  return useSyncExternalStore(signal.subscribe, () => signal.value)
}
