import { afterEach, expect, test } from 'bun:test'
import { SilenceWatch } from '../../../server/adapters/stores/libsql/driver/silence-watch'

let stop = () => {}
afterEach(() => stop())

/** A watch that looks each second of the test's time. */
function watched() {
  let now = 0
  const reasons: string[] = []
  const line = () => ({
    silentSince: null as number | null,
    heard() {
      this.silentSince = null
    },
  })
  const parts = { writer: line(), reader: line(), problem: null as string | null, asked: [] as number[] }
  const watch = new SilenceWatch({
    ...{ writer: parts.writer, readers: [parts.reader], now: () => now },
    async ask(maxMs) {
      parts.asked.push(maxMs)
      return parts.problem
    },
    onSilent: (reason) => reasons.push(reason),
  })
  watch.start()
  stop = () => watch.stop()
  const pass = async (seconds: number) => {
    for (let i = 0; i < seconds; i++) {
      now += 1_000
      watch.look()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { ...parts, parts, reasons, pass, at: () => now }
}

test('a database that answers neither its connection nor another one for 10 s is silent, which is said once', async () => {
  const { reader, parts, reasons, pass, at } = watched()
  parts.problem = 'late'
  reader.silentSince = at()
  await pass(9)
  expect(reasons).toEqual([])
  // Never longer than until then.
  expect(parts.asked).toEqual([5_000, 4_000, 3_000, 2_000, 1_000])
  await pass(10)
  expect(reasons).toEqual(['the database did not answer for 10 s'])
})

test('a query that takes long is no silence while the database answers others', async () => {
  const { reader, reasons, pass, at } = watched()
  reader.silentSince = at()
  reader.heard = () => undefined
  await pass(60)
  expect(reasons).toEqual([])
})

test('a connection that answers no write for 15 s is silent though the database answers another one', async () => {
  const { writer, reasons, pass, at } = watched()
  writer.silentSince = at()
  writer.heard = () => undefined
  await pass(14)
  expect(reasons).toEqual([])
  await pass(1)
  expect(reasons).toEqual(['the database did not answer for 15 s'])
})

test('a database that nobody asked is not asked, and is never silent', async () => {
  const { parts, reasons, pass } = watched()
  parts.problem = 'late'
  await pass(60)
  expect([parts.asked, reasons]).toEqual([[], []])
})
