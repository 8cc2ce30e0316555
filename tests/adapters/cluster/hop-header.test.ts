import { describe, expect, test } from 'bun:test'
import { HopHeaders } from '../../../server/adapters/cluster/hop-header'
import { HOP_HEADER, type HopClaim } from '../../../server/core/cluster/hop'

const KEY = { id: 'k1', secret: new Uint8Array(32).fill(1) }
const NEXT = { id: 'k2', secret: new Uint8Array(32).fill(2) }
const NOW = 1_790_000_000_000
const CLAIM: HopClaim = {
  method: 'POST',
  target: '/v1/chat/completions?a=1',
  cell: 'main',
  term: 7,
  address: '203.0.113.7',
  requestId: 'req_01JD0000000000000000000000',
  deadlineMs: 330_000,
}
const only = (key: typeof KEY) => new HopHeaders({ signing: key, accepted: [key] })

function arriving(header: string | null, { method = CLAIM.method, target = CLAIM.target } = {}): Request {
  return new Request(`http://api.example.com${target}`, {
    method,
    headers: header === null ? {} : { [HOP_HEADER]: header },
  })
}

/** Issue 23: the judged address and the request id in a signed header. */
describe('the header of a hop', () => {
  test('gives the owner what the first node knows', () => {
    for (const address of ['203.0.113.7', '2001:db8::1', 'unknown', 'operator']) {
      const header = only(KEY).sign({ ...CLAIM, address }, NOW)
      const { cell, requestId, term } = CLAIM
      expect(only(KEY).verified(arriving(header), NOW + 20)).toEqual({ cell, address, requestId, term })
    }
    expect(only(KEY).verified(arriving(null), NOW)).toBeNull()
  })

  test('is good for one request only', () => {
    const owner = only(KEY)
    const header = only(KEY).sign(CLAIM, NOW)
    expect(owner.verified(arriving(header), NOW)).not.toBe('forged')
    for (const later of [0, 1, 4_999]) expect(owner.verified(arriving(header), NOW + later)).toBe('forged')
    const signer = only(KEY)
    const twice = [signer.sign(CLAIM, NOW), signer.sign(CLAIM, NOW)]
    expect(twice.map((each) => owner.verified(arriving(each), NOW) === 'forged')).toEqual([false, false])
  })

  test('cannot be used for another path, query or method', () => {
    const header = only(KEY).sign(CLAIM, NOW)
    const others = [
      ...['/v1/chat/completions', '/v1/chat/completions?a=2', '/v1/embeddings?a=1', '/v1/chat/completions?a=1&b'].map(
        (target) => ({ target }),
      ),
      ...['GET', 'PUT', 'DELETE'].map((method) => ({ method })),
    ]
    for (const other of others) expect(only(KEY).verified(arriving(header, other), NOW)).toBe('forged')
    expect(only(KEY).verified(arriving(header, { target: `${CLAIM.target}#fragment` }), NOW)).not.toBe('forged')
  })

  test('is accepted for five seconds, and from a clock that is at most one second ahead', () => {
    const verdicts = [5_000, 5_001, -1_000, -1_001].map((later) =>
      only(KEY).verified(arriving(only(KEY).sign(CLAIM, NOW)), NOW + later),
    )
    expect(verdicts.map((verdict) => verdict === 'forged')).toEqual([false, true, false, true])
    const short = only(KEY).sign({ ...CLAIM, deadlineMs: 100 }, NOW)
    expect(only(KEY).verified(arriving(short), NOW + 101)).toBe('forged')
  })

  test('is refused with any field changed, cut short, or sent twice', () => {
    const header = only(KEY).sign(CLAIM, NOW)
    const fields = header.split(';')
    const changed = fields.map((field, at) => {
      const last = field.at(-1) === '1' ? '2' : '1'
      return fields.with(at, field.slice(0, -1) + last).join(';')
    })
    const others = [
      '',
      ';',
      'forged',
      `${header}, ${header}`,
      header.slice(0, -1),
      `${header}0`,
      ` ${header};`,
      header.toUpperCase(),
    ]
    const wild = [`k1;7;${NOW};1;100;req_1;203.0.113.7;`, 'x'.repeat(10_000), fields.with(6, '203.0.113.007').join(';')]
    for (const each of [...changed, ...others, ...wild])
      expect([each, only(KEY).verified(arriving(each), NOW)]).toEqual([each, 'forged'])
    expect(only(KEY).verified(arriving(header), NOW)).not.toBe('forged')
  })

  test('of an unknown key is refused; during a change two keys are good', () => {
    const header = only(NEXT).sign(CLAIM, NOW)
    const owner = only(KEY)
    expect(owner.verified(arriving(header), NOW)).toBe('forged')
    expect(only({ ...NEXT, id: KEY.id }).verified(arriving(only(KEY).sign(CLAIM, NOW)), NOW)).toBe('forged')
    owner.replaceKeys({ signing: KEY, accepted: [KEY, NEXT] })
    expect(owner.verified(arriving(header), NOW)).not.toBe('forged')
    expect(only(KEY).verified(arriving(owner.sign(CLAIM, NOW)), NOW)).not.toBe('forged')
    owner.replaceKeys({ signing: NEXT, accepted: [NEXT] })
    expect(owner.verified(arriving(only(KEY).sign(CLAIM, NOW)), NOW)).toBe('forged')
    expect(() => owner.replaceKeys({ signing: KEY, accepted: [NEXT] })).toThrow('not accepted')
    expect(() => only({ id: 'short', secret: new Uint8Array(31) })).toThrow('32 bytes')
  })

  test('used headers are remembered for as long as they would be good', () => {
    const [signer, owner] = [only(KEY), only(KEY)]
    for (let at = 0; at < 20_000; at += 500) {
      const header = signer.sign(CLAIM, NOW + at + 1_000)
      expect(owner.verified(arriving(header), NOW + at)).not.toBe('forged')
      for (const later of [0, 1_500, 3_100, 5_900])
        expect(owner.verified(arriving(header), NOW + at + later)).toBe('forged')
    }
  })

  test('used headers are forgotten also by an owner whose clock was set back by an hour', () => {
    const [signer, owner] = [only(KEY), only(KEY)]
    const use = (at: number) => owner.verified(arriving(signer.sign(CLAIM, at)), at)
    use(NOW)
    for (let at = NOW - 3_600_000; at < NOW - 3_500_000; at += 100) expect(use(at)).not.toBe('forged')
    expect(owner.remembered).toBeLessThan(150)
  })
})
