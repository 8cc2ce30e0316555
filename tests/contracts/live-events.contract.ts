import { describe, expect, test } from 'bun:test'
import type { LiveEvent } from '../../server/core/events/live-event'
import type { LiveEvents, Watcher } from '../../server/core/events/live-events'
import { makeId } from '../../server/core/ids'
import { accountId, call as calling, NOON } from '../support/ledger-parts'

/** The rules of every bus of live events. `most` is how many may watch one account, and how much is kept for whom. */
export function liveEventsContract(
  name: string,
  open: () => LiveEvents,
  most: { watchers: number; waiting: number; kept: number; unwatched: number },
) {
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
    test('reach all listeners of the account, in order, and no others', async () => {
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

    test('are not stored for later listeners without a mark, and an account without listeners is recognized', async () => {
      const events = open()
      const account = accountId()
      expect(events.isFollowed(account)).toBe(false)
      events.publish(account, { type: 'balance' })
      expect(events.isFollowed(account)).toBe(false)
      const watcher = events.watch(account)
      expect(events.isFollowed(account)).toBe(true)
      expect(await taken(watcher as Watcher)).toEqual([])
      watcher?.close()
      events.publish(account, { type: 'balance' })
      expect(await taken(events.watch(account) as Watcher)).toEqual([])
    })

    test('since a mark come first, none twice and none of before', async () => {
      const events = open()
      const account = accountId()
      events.mark(account)
      events.publish(account, keyEvent())
      const mark = events.mark(account)
      expect(events.isFollowed(account)).toBe(true)
      const [one, other, third] = [keyEvent(), keyEvent(), keyEvent()]
      events.publish(account, one)
      // Ends sessions that listen now; a later one is checked when it starts to listen.
      events.publish(account, { type: 'session' })
      events.publish(account, other)
      const watcher = events.watch(account, mark) as Watcher
      expect(watcher.mark).toBe(mark)
      events.publish(account, third)
      expect(await taken(watcher)).toEqual([one, other, third])
      watcher.close()
      const fourth = keyEvent()
      events.publish(account, fourth)
      expect(await taken(events.watch(account, watcher.mark) as Watcher)).toEqual([fourth])
    })

    test('since a mark that is no longer known, or of another account, are reported as missed at once', async () => {
      const events = open()
      const account = accountId()
      const mark = events.mark(account)
      const foreign = events.mark(accountId())
      for (let i = 0; i < most.kept; i++) events.publish(account, keyEvent())
      expect(await taken(events.watch(account, mark) as Watcher)).toHaveLength(most.kept)
      events.publish(account, keyEvent())
      for (const unknown of [mark, foreign, open().mark(account), '', 'x.y', `${mark}99`, mark.replace('.0', '.-1')]) {
        const watcher = events.watch(account, unknown) as Watcher
        expect(await watcher.take(60_000)).toEqual([{ type: 'missed' }])
        expect(await taken(watcher)).toEqual([])
      }
    })

    test('are kept for a bounded number of accounts without listeners, and for every account with one', async () => {
      const { events, account: watchedOne } = watched()
      const [oldest, used] = [accountId(), accountId()]
      const marks = [oldest, used, watchedOne].map((account) => events.mark(account))
      for (let i = 1; i < most.unwatched; i++) {
        events.mark(used)
        events.mark(accountId())
      }
      expect([oldest, used, watchedOne].map((account) => events.isFollowed(account))).toEqual([false, true, true])
      const after = [oldest, used, watchedOne].map((account, i) => events.watch(account, marks[i]) as Watcher)
      expect(await Promise.all(after.map(taken))).toEqual([[{ type: 'missed' }], [], []])
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
      for (let i = 0; i < most.watchers; i++) expect(events.watch(account)).not.toBeNull()
    })
  })
}
