import { describe, expect, test } from 'bun:test'
import type { ModelUpstream } from '../../server/core/models/model'
import { Drains } from '../../server/pipeline/drains'
import { accountId } from '../support/ledger-parts'

const upstream = (baseUrl: string, concurrency: number): ModelUpstream => ({
  kind: 'openai',
  baseUrl,
  keyEnv: null,
  model: 'm',
  concurrency,
  connectMs: 1,
  firstByteMs: 1,
  idleMs: 1,
  capName: 'max_tokens',
  speaksResponses: false,
})
/** A caller who never hangs up. */
const caller = new AbortController()
const wide = { upstreams: [upstream('http://wide.test', 10_000)] }

describe('calls that continue after their callers hung up', () => {
  test('take at most half of a process: then an account with more than its part of them is refused new ones until they end, and others are not', () => {
    const drains = new Drains()
    const [many, one, none] = [accountId(), accountId(), accountId()]
    const running = [one, ...Array.from({ length: 510 }, () => many)].map((account) =>
      drains.open(account, wide, caller.signal),
    )
    for (const drain of running) drain.begin()
    expect([many, one, none].map((account) => drains.refusal(account, 1_000, wide))).toEqual([null, null, null])
    const last = drains.open(many, wide, caller.signal)
    last.begin()
    const refusals = [many, one, none].map((account) => drains.refusal(account, 1_000, wide)?.code ?? null)
    expect(refusals).toEqual(['rate_limit_exceeded', null, null])
    last.end()
    expect(drains.refusal(many, 1_000, wide)).toBeNull()
  })

  test('count once each at their upstream, from the hang-up until they end', () => {
    const drains = new Drains()
    const account = accountId()
    const [first, second] = [upstream('http://one.test', 2), upstream('http://two.test', 2)]
    const refused = (...upstreams: (typeof first)[]) => drains.refusal(account, 1_000, { upstreams }) !== null
    const heard = drains.open(account, { upstreams: [second] }, caller.signal)
    heard.end()
    const drain = drains.open(account, { upstreams: [first, second] }, caller.signal)
    drain.at('openai two.test')
    expect(refused(first)).toBe(false)
    drain.begin()
    drain.begin()
    const atTwo = [first, second].map((at) => refused(at))
    drain.end()
    drain.end()
    drain.begin()
    expect([atTwo, refused(second)]).toEqual([[false, true], false])
  })

  test('begin to count when their caller hangs up, unless they ended before', () => {
    const drains = new Drains()
    const account = accountId()
    const one = { upstreams: [upstream('http://one.test', 2)] }
    const [gone, ended] = [new AbortController(), new AbortController()]
    const drain = drains.open(account, one, gone.signal)
    drains.open(account, one, ended.signal).end()
    ended.abort()
    expect(drains.refusal(account, 1_000, one)).toBeNull()
    gone.abort()
    expect(drains.refusal(account, 1_000, one)?.code).toBe('rate_limit_exceeded')
    drain.end()
    expect(drains.refusal(account, 1_000, one)).toBeNull()
  })
})
