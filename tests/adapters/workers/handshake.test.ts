import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Payload } from '../../../server/adapters/workers/frames'
import {
  areCompatible,
  PrimaryHandshake,
  type RefusalReason,
  WorkerHandshake,
} from '../../../server/adapters/workers/handshake'
import { err, type Result } from '../../../server/core/result'

const KEY = Buffer.alloc(32, 7)
const OTHER_KEY = Buffer.alloc(32, 8)
const INSTANCE = '0123456789abcdef0123456789abcdef'
const KEYS = new Map([['eu-1', KEY]])

const workerSide = (more: Partial<ConstructorParameters<typeof WorkerHandshake>[0]> = {}) =>
  new WorkerHandshake({ credential: 'eu-1', key: KEY, instance: INSTANCE, version: '1.4.2', epoch: 6, ...more })
const primarySide = (more: Partial<ConstructorParameters<typeof PrimaryHandshake>[0]> = {}) =>
  new PrimaryHandshake({ version: '1.4.2', epoch: 6, keyOf: (name) => KEYS.get(name) ?? null, ...more })

const AT = { session: 2, received: 40 }
const refusal = (reason: RefusalReason, version: string | null = null) => err({ reason, version })

function value<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(Bun.inspect(result.error))
  return result.value
}

/** A whole handshake, with what each side says. */
function run(worker = workerSide(), primary = primarySide()) {
  const { hello } = worker
  const greeting = value(primary.greet(hello))
  const { proof, epoch } = value(worker.prove(greeting, AT))
  return { hello, greeting, proof, epoch, proved: value(primary.verify(proof)) }
}

/** The same with one member replaced. */
const altered = (said: Payload, at: number, by: unknown): Payload => said.with(at, by)

describe('both sides prove one credential', () => {
  test('and each knows who the other is', () => {
    const { epoch, proved } = run()
    expect(epoch).toBe(6)
    expect(proved).toEqual({ credential: 'eu-1', instance: INSTANCE, ...AT })
  })

  test('and nothing that they send contains it, or repeats', () => {
    const [one, other] = [run(), run()]
    for (const part of ['hello', 'greeting', 'proof'] as const) {
      const text = JSON.stringify(one[part])
      for (const form of ['hex', 'base64', 'base64url', 'latin1'] as const)
        expect(text).not.toContain(KEY.toString(form).slice(0, 12))
      expect(one[part]).not.toEqual(other[part])
    }
  })

  test('a worker refuses a primary with another secret, and sends no proof', () => {
    const primary = primarySide({ keyOf: () => OTHER_KEY })
    const worker = workerSide()
    expect(worker.prove(value(primary.greet(worker.hello)), AT)).toEqual(refusal('credential', '1.4.2'))
  })

  test('a primary refuses a worker with another secret', () => {
    const primary = primarySide()
    const liar = workerSide({ key: OTHER_KEY })
    const greeting = value(primary.greet(liar.hello))
    expect(liar.prove(greeting, AT)).toEqual(refusal('credential', '1.4.2'))
    // A proof of the right form for this greeting, made with the wrong secret.
    const other = primarySide({ keyOf: () => OTHER_KEY })
    expect(primary.verify(value(liar.prove(value(other.greet(liar.hello)), AT)).proof)).toEqual(refusal('credential'))
  })

  test('an unknown name gets an answer of the same form as a known one', () => {
    const known = value(primarySide().greet(workerSide().hello))
    const unknown = value(primarySide().greet(workerSide({ credential: 'nobody' }).hello))
    expect(unknown.map((part) => typeof part)).toEqual(known.map((part) => typeof part))
    expect(String(unknown[4]).length).toBe(String(known[4]).length)
    const worker = workerSide({ credential: 'nobody' })
    expect(worker.prove(value(primarySide().greet(worker.hello)), AT)).toEqual(refusal('credential', '1.4.2'))
  })

  test('a credential that was revoked between the two steps is refused', () => {
    const keys = new Map(KEYS)
    const primary = primarySide({ keyOf: (name) => keys.get(name) ?? null })
    const worker = workerSide()
    const { proof } = value(worker.prove(value(primary.greet(worker.hello)), AT))
    keys.clear()
    expect(primary.verify(proof)).toEqual(refusal('credential'))
  })
})

describe('what was recorded is of no use', () => {
  test('a worker cannot be replayed to a primary', () => {
    const { hello, proof } = run()
    const primary = primarySide()
    value(primary.greet(hello))
    expect(primary.verify(proof)).toEqual(refusal('credential'))
  })

  test('a primary cannot be replayed to a worker', () => {
    const { greeting } = run()
    expect(workerSide().prove(greeting, AT)).toEqual(refusal('credential', '1.4.2'))
  })

  test('a proof is good once, and only after a greeting', () => {
    const worker = workerSide()
    const primary = primarySide()
    const { proof } = value(worker.prove(value(primary.greet(worker.hello)), AT))
    expect(primary.verify(proof).ok).toBe(true)
    expect(primary.verify(proof)).toEqual(refusal('malformed'))
    expect(primarySide().verify(proof)).toEqual(refusal('malformed'))
  })

  test('a second hello on one connection is refused', () => {
    const primary = primarySide()
    value(primary.greet(workerSide().hello))
    expect(primary.greet(workerSide().hello)).toEqual(refusal('malformed'))
  })
})

describe('what is reflected is refused', () => {
  test('a worker that hears itself', () => {
    const worker = workerSide()
    expect(worker.prove(worker.hello, AT)).toEqual(refusal('malformed'))
    const greeting = value(primarySide().greet(worker.hello))
    expect(worker.prove(altered(greeting, 2, worker.hello[4]), AT)).toEqual(refusal('malformed', '1.4.2'))
  })

  test('a primary that hears its own proof', () => {
    const worker = workerSide()
    const primary = primarySide()
    const greeting = value(primary.greet(worker.hello))
    expect(primary.verify([greeting[4], AT.session, AT.received])).toEqual(refusal('credential'))
  })

  test('two workers, or two primaries, that are connected to each other', () => {
    expect(workerSide().prove(workerSide().hello, AT)).toEqual(refusal('malformed'))
    const greeting = value(primarySide().greet(workerSide().hello))
    expect(primarySide().greet(greeting)).toEqual(refusal('malformed'))
    expect(primarySide().greet(altered(workerSide().hello, 0, 'primary'))).toEqual(refusal('malformed'))
  })
})

describe('what was changed on the way is refused', () => {
  const wrong = [
    '',
    'x',
    null,
    1.5,
    -1,
    2 ** 32,
    [],
    {},
    'A'.repeat(43),
    'A'.repeat(44),
    '1.4.3',
    INSTANCE.replace('0', '1'),
  ]

  test('each member of each message', () => {
    const { length } = workerSide().hello
    for (let at = 0; at < length; at++)
      for (const by of wrong) {
        const worker = workerSide()
        const greeting = primarySide().greet(altered(worker.hello, at, by))
        if (greeting.ok && worker.hello[at] !== by) expect(worker.prove(greeting.value, AT).ok).toBe(false)
      }
    for (let at = 0; at < 5; at++)
      for (const by of wrong) {
        const worker = workerSide()
        const greeting = value(primarySide().greet(worker.hello))
        if (greeting[at] !== by) expect(worker.prove(altered(greeting, at, by), AT).ok).toBe(false)
      }
    for (let at = 0; at < 3; at++)
      for (const by of [...wrong, 3]) {
        const worker = workerSide()
        const primary = primarySide()
        const { proof } = value(worker.prove(value(primary.greet(worker.hello)), AT))
        expect(primary.verify(altered(proof, at, by)).ok).toBe(false)
      }
  })

  test('a message that is too short or too long, and a proof that is cut', () => {
    for (const change of [(said: Payload) => said.slice(0, -1), (said: Payload) => [...said, 0], () => []]) {
      const worker = workerSide()
      const primary = primarySide()
      expect(primarySide().greet(change(worker.hello)).ok).toBe(false)
      const greeting = value(primary.greet(worker.hello))
      expect(worker.prove(change(greeting), AT).ok).toBe(false)
      expect(primary.verify(change(value(worker.prove(greeting, AT)).proof)).ok).toBe(false)
    }
    for (let length = 0; length < 43; length++) {
      const worker = workerSide()
      const primary = primarySide()
      const { proof } = value(worker.prove(value(primary.greet(worker.hello)), AT))
      expect(primary.verify(altered(proof, 0, String(proof[0]).slice(0, length))).ok).toBe(false)
    }
  })

  test('any JSON at all, without an exception', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue() as fc.Arbitrary<unknown>, { maxLength: 7 }), (said) => {
        expect(primarySide().greet(said).ok).toBe(false)
        expect(workerSide().prove(said, AT).ok).toBe(false)
        const primary = primarySide()
        value(primary.greet(workerSide().hello))
        expect(primary.verify(said).ok).toBe(false)
      }),
    )
  })
})

describe('versions', () => {
  test('go together if they are the same, or neighbouring patches of one release', () => {
    for (const [one, other, is] of [
      ['1.4.2', '1.4.2', true],
      ['1.4.2', '1.4.3', true],
      ['1.4.10', '1.4.9', true],
      ['1.4.2', '1.4.4', false],
      ['1.4.2', '1.5.2', false],
      ['1.4.0', '1.3.99', false],
      ['1.4.2', '2.4.2', false],
      ['1.4.2', '1.4.3-rc.1', false],
      ['1.4.2-rc.1', '1.4.2-rc.1', true],
      ['1.4.2-rc.1', '1.4.2', false],
    ] as const) {
      expect([one, other, areCompatible(one, other)]).toEqual([one, other, is])
      expect(areCompatible(other, one)).toBe(is)
    }
  })

  test('each side refuses another one, and says which it saw', () => {
    const worker = workerSide({ version: '1.6.0' })
    expect(primarySide().greet(worker.hello)).toEqual(refusal('version', '1.6.0'))
    const greeting = value(primarySide({ version: '1.6.0' }).greet(worker.hello))
    expect(workerSide().prove(greeting, AT)).toEqual(refusal('version', '1.6.0'))
    expect(run(workerSide({ version: '1.4.1' })).proved.credential).toBe('eu-1')
  })
})

describe('epochs', () => {
  test('a worker refuses a primary that another one replaced', () => {
    const worker = workerSide({ epoch: 7 })
    expect(worker.prove(value(primarySide().greet(worker.hello)), AT)).toEqual(refusal('older_epoch', '1.4.2'))
  })

  test('a worker goes on with a primary of a higher epoch', () => {
    expect(run(workerSide({ epoch: 0 }), primarySide({ epoch: 9 })).epoch).toBe(9)
  })
})
