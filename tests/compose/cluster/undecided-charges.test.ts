import { describe, expect, test } from 'bun:test'
import { receiver } from '../../../server/compose/cluster/cells/other-cells'
import { reverseUndecided, UndecidedCharges } from '../../../server/compose/cluster/undecided-charges'
import { type CellMessage, CellSilent } from '../../../server/core/cluster/cell-messages'
import type { UndecidedCharge } from '../../../server/core/ledger/ledger'
import { micros, ZERO } from '../../../server/core/money'
import { accountId, call, NOON } from '../../support/ledger-parts'

type Told = Extract<CellMessage, { readonly kind: 'undecided_charges' }>

function undecidedCharge(): UndecidedCharge {
  const account = accountId()
  return { account, pool: null, at: NOON, split: { credit: ZERO, paid: micros(5) }, call: call(account, 5) }
}

/** A node beside owners that answer as `answer` says. */
function openNode(answer: (cell: string, message: Told) => boolean | Error | Promise<boolean>) {
  const told: [string, Told][] = []
  const lines: string[] = []
  const log = { warn: (line: string) => lines.push(line), error: (line: string) => lines.push(line) }
  const messages = {
    async send(cell: string, message: CellMessage) {
      const given = await answer(cell, message as Told)
      if (given instanceof Error) throw given
      if (given) told.push([cell, message as Told])
      return given
    },
  }
  const sleep = () => new Promise<void>((resolve) => setImmediate(resolve))
  return { told, lines, node: new UndecidedCharges({ messages, log: log as never, sleep }) }
}
const turns = async (count: number) => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe('charges that a node left undecided', () => {
  test('are sent to the owner of each cell, at most fifty at once, with the ownership under which they were left', async () => {
    const { told, lines, node } = openNode(() => true)
    const charges = Array.from({ length: 60 }, undecidedCharge)
    for (const charge of charges) node.add({ cell: 'c2', term: 3 }, charge)
    node.add({ cell: 'main', term: 7 }, undecidedCharge())
    await turns(5)
    const toldTo = (name: string) => told.flatMap(([cell, message]) => (cell === name ? [message] : []))
    expect(toldTo('c2').map(({ term, charges: sent }) => [term, sent.length])).toEqual([
      [3, 50],
      [3, 10],
    ])
    expect(toldTo('main').map(({ term, charges: sent }) => [term, sent.length])).toEqual([[7, 1]])
    expect(toldTo('c2').flatMap(({ charges: sent }) => sent)).toEqual(charges)
    await node.close()
    expect(lines).toEqual([])
  })

  test('are sent again until a later owner has taken them', async () => {
    const answers = [new CellSilent('nobody'), new CellSilent('nobody'), false, true]
    const { told, lines, node } = openNode(() => answers.shift() ?? true)
    node.add({ cell: 'c2', term: 3 }, undecidedCharge())
    await turns(20)
    expect(told).toHaveLength(1)
    // One line for each cause.
    expect(lines).toEqual(Array(2).fill('could not send undecided charges to the next owner of a cell'))
  })

  test('of one cell do not wait for the owner of another', async () => {
    const { promise: silence } = Promise.withResolvers<never>()
    const { told, node } = openNode((cell) => (cell === 'c2' ? silence : true))
    node.add({ cell: 'c2', term: 3 }, undecidedCharge())
    node.add({ cell: 'main', term: 7 }, undecidedCharge())
    await turns(3)
    node.add({ cell: 'main', term: 7 }, undecidedCharge())
    await turns(3)
    expect(told.map(([cell]) => cell)).toEqual(['main', 'main'])
    await node.close()
  })

  test('are named in the log when the node ends before', async () => {
    const { lines, node } = openNode(() => new CellSilent('nobody'))
    node.add({ cell: 'c2', term: 3 }, undecidedCharge())
    await node.close()
    expect(lines).toContain('this node ends with charges of unknown outcome, whose callers got 503')
  })
})

describe('an owner that gets undecided charges', () => {
  function openOwner(term: number | null, reverse: (charge: UndecidedCharge) => boolean | Error) {
    const warned: unknown[] = []
    const reversing = reverseUndecided({
      ledger: {
        async reverse(charge) {
          const given = reverse(charge)
          if (given instanceof Error) throw given
          return given
        },
      },
      log: { warn: (_: string, fields?: object) => warned.push(fields) } as never,
    })
    const nothing = async () => undefined
    const receive = receiver({
      ...{ users: { receive: nothing }, setupToken: { use: async () => true }, takeOffSale: nothing as never },
      ...{ syncDirectory: nothing, reverseUndecided: reversing, term: () => term },
    })
    return { warned, receive }
  }

  test('reverses them under a later ownership alone: the writes of an earlier one may be on their way', async () => {
    const charges = [undecidedCharge(), undecidedCharge()]
    const seen: UndecidedCharge[] = []
    for (const term of [null, 2, 3]) {
      const { receive } = openOwner(term, (charge) => seen.push(charge) > 0)
      expect(await receive({ kind: 'undecided_charges', term: 3, charges })).toBe(false)
    }
    expect(seen).toEqual([])
    const { warned, receive } = openOwner(4, (charge) => seen.push(charge) === 1)
    expect(await receive({ kind: 'undecided_charges', term: 3, charges })).toBe(true)
    expect(seen).toEqual(charges)
    expect(warned).toEqual([{ count: 1, requests: `${charges[0]?.call.id}` }])
  })

  test('says that it does not know when its database does not answer, and logs what it gave back', async () => {
    const charges = [undecidedCharge(), undecidedCharge()]
    const { warned, receive } = openOwner(4, (charge) => (charge === charges[0] ? true : new Error('away')))
    await expect(receive({ kind: 'undecided_charges', term: 3, charges })).rejects.toThrow('away')
    expect(warned).toEqual([{ count: 1, requests: `${charges[0]?.call.id}` }])
  })
})
