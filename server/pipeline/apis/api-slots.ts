import type { Api } from '../../core/apis/api'

/** Why there is no slot: this gateway has none at all, all are taken, or this caller has its share. */
export type NoSlot = 'no_slots' | 'api_full' | 'caller_full'

interface Taken {
  all: number
  readonly byCaller: Map<string, number>
}

/** The calls in progress of each API, over all callers, in this process. One caller gets at most half of an API's slots. */
export class ApiSlots {
  private readonly byApi = new Map<string, Taken>()
  private readonly shareOf: (cap: number) => number

  /** `shareOf`: how much of an API's concurrency is this gateway's; all of it, if there is no other. */
  constructor(shareOf: (cap: number) => number = (cap) => cap) {
    this.shareOf = shareOf
  }

  /** Takes a slot, or says why there is none. Give it back once, at the end of the call. */
  take(api: Pick<Api, 'name' | 'concurrency'>, caller: string): NoSlot | null {
    const { name } = api
    const concurrency = this.shareOf(api.concurrency)
    const taken = this.byApi.get(name) ?? { all: 0, byCaller: new Map<string, number>() }
    const mine = taken.byCaller.get(caller) ?? 0
    if (concurrency === 0) return 'no_slots'
    if (taken.all >= concurrency) return 'api_full'
    if (mine >= Math.max(1, Math.floor(concurrency / 2))) return 'caller_full'
    taken.all++
    taken.byCaller.set(caller, mine + 1)
    if (taken.all === 1) this.byApi.set(name, taken)
    return null
  }

  giveBack({ name }: Pick<Api, 'name'>, caller: string): void {
    const taken = this.byApi.get(name)
    const mine = taken?.byCaller.get(caller) ?? 0
    if (!taken || mine === 0) return
    taken.all--
    if (mine > 1) taken.byCaller.set(caller, mine - 1)
    else taken.byCaller.delete(caller)
    if (taken.all === 0) this.byApi.delete(name)
  }
}
