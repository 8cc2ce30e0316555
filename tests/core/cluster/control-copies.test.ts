import { describe, expect, test } from 'bun:test'
import { ChangesHere } from '../../../server/core/cluster/control-changes'
import { ControlCopies } from '../../../server/core/cluster/control-copies'
import { until } from '../../support/until'

describe('copies of the control database', () => {
  test('are read again only when the version rose, and replaced in one step', async () => {
    let version = 1
    let stored = 'old'
    let reads = 0
    const seen: string[] = []
    const copies = new ControlCopies(async () => version, 1)
    const second = Promise.withResolvers<void>()
    const copy = (name: string, wait?: Promise<void>) => ({
      async read() {
        reads++
        const value = stored
        await wait
        return () => seen.push(`${name} ${value}`)
      },
    })
    copies.add(copy('a'), copy('b', second.promise))
    await copies.refresh()
    expect(reads).toBe(0)
    version = 2
    stored = 'new'
    const refreshed = copies.refresh()
    await Bun.sleep(0)
    expect(seen).toEqual([])
    second.resolve()
    await refreshed
    await copies.refresh()
    expect([seen, reads]).toEqual([['a new', 'b new'], 2])
  })

  test('stay as they were if one cannot be taken over, and are read again', async () => {
    let fails = true
    const taken: string[] = []
    const copies = new ControlCopies(async () => 2, 1)
    copies.add(
      {
        read: async () => () => {
          if (fails) throw new Error('a role changed')
        },
      },
      { read: async () => () => taken.push('taken') },
    )
    await expect(copies.refresh()).rejects.toThrow('a role changed')
    expect(taken).toEqual([])
    fails = false
    await copies.refresh()
    expect(taken).toEqual(['taken'])
  })

  test('a change resolves when every gateway of this process and all other nodes have read it, tried until then', async () => {
    const elsewhere = Promise.withResolvers<void>()
    const changes = new ChangesHere(
      () => elsewhere.promise,
      async () => undefined,
    )
    let tries = 0
    const leave = changes.join({
      async refresh() {
        if (++tries < 3) throw new Error('the database is away')
      },
    })
    let isDone = false
    const changed = changes.changed().then(() => (isDone = true))
    await until(() => tries === 3)
    expect(isDone).toBe(false)
    elsewhere.resolve()
    await changed
    leave()
    await changes.changed()
    expect(tries).toBe(3)
  })

  test('a gateway that ends while it cannot read is waited for no longer', async () => {
    let leave: () => void = () => undefined
    const changes = new ChangesHere(undefined, async () => leave())
    leave = changes.join({ refresh: () => Promise.reject(new Error('the database is away')) })
    await changes.changed()
  })
})
