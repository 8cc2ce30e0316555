import { describe, expect, test } from 'bun:test'
import { withRetries } from '../../server/cli/retry'

/** Answers these `Retry-After`s with 429, then 200; tells the seconds that were waited. */
async function waits(asked: readonly (string | null)[], random = 0.5) {
  const slept: number[] = []
  let sent = 0
  const answer = await withRetries(
    { sleep: async (ms) => void slept.push(ms / 1000), random: () => random },
    async () => {
      const wait = asked[sent++]
      if (wait === undefined) return new Response('ok')
      return new Response('', { status: 429, headers: wait === null ? {} : { 'retry-after': wait } })
    },
  )
  return { slept, sent, status: answer.status }
}

describe('after a 429 (spec 7 rule 1)', () => {
  test('the first wait is what Retry-After says', async () => {
    expect(await waits(['7'])).toEqual({ slept: [7], sent: 2, status: 200 })
  })

  test('each further 429 doubles the wait', async () => {
    expect((await waits(['2', '1', '1', '1'])).slept).toEqual([2, 4, 8, 16])
  })

  test('give or take 25 percent', async () => {
    expect((await waits(['2', '1', '1'], 0)).slept).toEqual([2, 3, 6])
    expect((await waits(['2', '1', '1'], 0.999999)).slept.map((seconds) => Math.round(seconds * 100) / 100)).toEqual([
      2, 5, 10,
    ])
  })

  test('at most 30 seconds', async () => {
    expect((await waits(['20', '1', '1'], 0.999)).slept).toEqual([20, 30, 30])
  })

  test('but never shorter than Retry-After, even if that is longer than 30 seconds', async () => {
    expect((await waits(['45', '50', '2'])).slept).toEqual([45, 50, 30])
    expect((await waits(['1', '9', '1'])).slept).toEqual([1, 9, 4])
  })

  test('without Retry-After, or with an invalid one, it starts with a second', async () => {
    expect((await waits([null, 'soon'])).slept).toEqual([1, 2])
  })

  test('the sixth is returned to the caller', async () => {
    const { sent, status, slept } = await waits(Array(9).fill('1'))
    expect([sent, status, slept.length]).toEqual([6, 429, 5])
  })

  test('nothing else is retried', async () => {
    let sent = 0
    const terminal = { sleep: async () => undefined, random: () => 0 }
    for (const status of [200, 402, 500, 503]) {
      const answer = await withRetries(terminal, async () => {
        sent++
        return new Response('', { status, headers: { 'retry-after': '1' } })
      })
      expect(answer.status).toBe(status)
    }
    expect(sent).toBe(4)
  })
})
