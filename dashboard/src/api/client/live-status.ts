import { Signal } from '../../signal.ts'

/** Whether events arrive. `since`: when they stopped; the data on the screen may be older than that. */
export type LiveStatus =
  | { readonly state: 'live' | 'connecting' }
  | { readonly state: 'disconnected'; readonly since: number }

export const liveStatus = new Signal<LiveStatus>({ state: 'connecting' })
