import type { Api } from '../../core/apis/api'

/** Why there is no place: all are taken, or this caller has its share. */
export type NoPlace = 'api_full' | 'caller_full'

/** The calls in progress of each API, over all callers, in this process. One caller gets at most half of an API's places. */
export class ApiPlaces {
  private readonly byApi = new Map<string, Map<string, number>>()

  /** Takes a place. Call the returned function once, at the end of the call. */
  take({ name, concurrency }: Pick<Api, 'name' | 'concurrency'>, caller: string): NoPlace | (() => void) {
    const callers = this.byApi.get(name) ?? new Map<string, number>()
    const mine = callers.get(caller) ?? 0
    let all = 0
    for (const count of callers.values()) all += count
    if (all >= concurrency) return 'api_full'
    if (mine >= Math.max(1, Math.floor(concurrency / 2))) return 'caller_full'
    callers.set(caller, mine + 1)
    this.byApi.set(name, callers)
    return () => {
      const left = (callers.get(caller) ?? 1) - 1
      if (left > 0) callers.set(caller, left)
      else callers.delete(caller)
      if (callers.size === 0) this.byApi.delete(name)
    }
  }
}
