import { describe, expect, test } from 'bun:test'
import type { LiveEvent } from '../../server/core/events/live-event'
import type { LiveEvents, Watcher } from '../../server/core/events/live-events'
import { makeId } from '../../server/core/ids'
import { accountId, call as calling, NOON } from '../support/ledger-parts'

/** What every bus of live events keeps to. `most` is how many may watch one account. */
export function liveEventsContract(name: string, open: () => LiveEvents, most: { watchers: number; waiting: number }) {
  const keyEvent = (): LiveEvent => ({ type: 'key', id: makeId('key', NOON) })
  function watched() {
    const events = open()
    const account = accountId()
    const watcher = events.watch(account)
    if (!watcher) throw new Error('no watcher')
    return { events, account, watcher }
  }
  const taken = (watcher: Watcher) => watcher.take(0)

  describe(`live events: ${name}`, () => {
    test('reach everybody who watches the account, in order, and nobody else', async () => {
      const { events, account, watcher } = watched()
      const [second, stranger] = [events.watch(account), events.watch(accountId())]
      const [one, other] = [keyEvent(), keyEvent()]
      events.publish(account, one)
      events.publish(account, other)
      expect(await taken(watcher)).toEqual([one, other])
      expect(await taken(second as Watcher)).toEqual([one, other])
      expect(await taken(stranger as Watcher)).toEqual([])
      expect(await taken(watcher)).toEqual([])
    })

    test('wake a waiting listener at once', async () => {
      const { events, account, watcher } = watched()
      const waiting = watcher.take(60_000)
      events.publish(account, { type: 'balance' })
      expect(await waiting).toEqual([{ type: 'balance' }])
    })

    test('are not stored for later listeners, and an account without listeners is recognized', async () => {
      const events = open()
      const account = accountId()
      expect(events.isWatched(account)).toBe(false)
      events.publish(account, { type: 'balance' })
      const watcher = events.watch(account)
      expect(events.isWatched(account)).toBe(true)
      expect(await taken(watcher as Watcher)).toEqual([])
      watcher?.close()
      expect(events.isWatched(account)).toBe(false)
    })

    test('that are equal are sent once; every call is sent', async () => {
      const { events, account, watcher } = watched()
      const key = keyEvent()
      const call: LiveEvent = { type: 'call', call: calling(account, null) }
      for (const event of [call, { type: 'balance' }, key, call, key, { type: 'balance' }] as const)
        events.publish(account, event)
      expect(await taken(watcher)).toEqual([call, { type: 'balance' }, key, call])
    })

    test('have a memory limit for a listener that does not read them, which then learns that some are missing', async () => {
      const { events, account, watcher } = watched()
      for (let i = 0; i < most.waiting * 3; i++) events.publish(account, keyEvent())
      const all = await taken(watcher)
      expect(all).toHaveLength(most.waiting + 1)
      expect(all?.at(-1)).toEqual({ type: 'missed' })
      events.publish(account, { type: 'tier' })
      expect(await taken(watcher)).toEqual([{ type: 'tier' }])
    })

    test('have a bounded number of listeners per account; one that closes makes room', () => {
      const { events, account, watcher } = watched()
      for (let i = 1; i < most.watchers; i++) expect(events.watch(account)).not.toBeNull()
      expect(events.watch(account)).toBeNull()
      expect(events.watch(accountId())).not.toBeNull()
      watcher.close()
      watcher.close()
      expect(events.watch(account)).not.toBeNull()
      expect(events.watch(account)).toBeNull()
    })

    test('end for every listener, also for a waiting one', async () => {
      const { events, account, watcher } = watched()
      const waiting = watcher.take(60_000)
      events.end()
      expect(await waiting).toBeNull()
      expect(await taken(watcher)).toBeNull()
      expect(events.isWatched(account)).toBe(false)
    })
  })
}
