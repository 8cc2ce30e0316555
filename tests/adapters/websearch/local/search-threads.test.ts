import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { finalizeStatements } from '../../../../server/adapters/stores/libsql/driver/file/finalize-statements'
import { buildIndex } from '../../../../server/adapters/websearch/local/build/build-index'
import { contextProvider } from '../../../../server/adapters/websearch/local/context-provider'
import { BOUNDS, type IndexClient, openIndexClient } from '../../../../server/adapters/websearch/local/index-client'
import { type IndexAnswer, startIndexThread } from '../../../../server/adapters/websearch/local/index-thread'
import { canListOpenFiles, openFilesBelow } from '../../../support/databases/open-files'
import { FakeThreads, searchFor } from '../../../support/fake-threads'
import { BASE_URL, contextInput, NOW, pagesAbout, temporaryFolder, writeFixtureProject } from './fixture-index'

const folder = temporaryFolder()
afterAll(() => folder.remove())

const never = new AbortController().signal
let threads: FakeThreads
let client: IndexClient

beforeEach(() => {
  threads = new FakeThreads()
  client = openIndexClient({ indexPath: '', maxThreads: 2, start: threads.start })
})

const ask = (q: string, caller = 'a') => client.ask(searchFor(q), caller, never)
const askMany = (count: number, caller: string): Promise<IndexAnswer>[] =>
  Array.from({ length: count }, (_, at) => ask(`${caller}${at}`, caller))
const thread = (at: number) => {
  const found = threads.all[at]
  if (!found) throw new Error(`thread ${at} was not started`)
  return found
}
const kindOf = async (answer: Promise<IndexAnswer>) => {
  const given = await answer
  return given.ok ? 'ok' : given.error.kind
}

describe('a second thread', () => {
  test('is started when a search has to wait, and takes what waits once it is open', async () => {
    const one = ask('one')
    thread(0).open()
    expect(threads.all).toHaveLength(1)
    const [two, three] = [ask('two'), ask('three')]
    expect(threads.all).toHaveLength(2)
    thread(0).answer()
    thread(1).open()
    expect(threads.asked).toEqual(['one', 'two', 'three'])
    expect([thread(0).working, thread(1).working]).toEqual(['two', 'three'])
    for (const at of [0, 1]) thread(at).answer()
    const answers: IndexAnswer[] = await Promise.all([one, two, three])
    expect(answers).toEqual(['one', 'two', 'three'].map((q) => ({ ok: true, value: { body: `"${q}"` } })))
    const later = ask('later')
    expect([thread(0).working, thread(1).working]).toEqual(['later', null])
    thread(0).answer()
    expect(await kindOf(later)).toBe('ok')
    await client.close()
    expect(threads.alive).toEqual([])
  })

  test('is not started while the first one is still starting, nor for an aborted search', async () => {
    const abort = new AbortController()
    const first = ask('first')
    const waits = client.ask(searchFor('waits'), 'a', abort.signal)
    expect(threads.all).toHaveLength(1)
    abort.abort()
    expect(await kindOf(waits)).toBe('timeout')
    thread(0).open()
    expect(threads.all).toHaveLength(1)
    thread(0).answer()
    expect(await kindOf(first)).toBe('ok')
    expect(threads.asked).toEqual(['first'])
    await client.close()
  })

  test('is never started on a single core', async () => {
    client = openIndexClient({ indexPath: '', maxThreads: 1, start: threads.start })
    const asked = askMany(3, 'a')
    thread(0).open()
    expect(threads.all).toHaveLength(1)
    await client.close()
    expect(await Promise.all(asked.map(kindOf))).toEqual(['unavailable', 'unavailable', 'unavailable'])
  })

  test('that cannot start fails no search, and is not tried again', async () => {
    const asked = askMany(3, 'a')
    thread(0).open()
    thread(1).die()
    for (let i = 0; i < 3; i++) thread(0).answer()
    expect(await Promise.all(asked.map(kindOf))).toEqual(['ok', 'ok', 'ok'])
    const later = askMany(2, 'a')
    expect(threads.all).toHaveLength(2)
    await client.close()
    expect(await Promise.all(later.map(kindOf))).toEqual(['unavailable', 'unavailable'])
  })

  test('switches to a new index file like the first one, and both end with the client', async () => {
    const indexPath = join(folder.path, 'search.db')
    const project = writeFixtureProject(join(folder.path, 'project'))
    await buildIndex({ indexPath, ...project })
    const script = new URL('../../../../server/adapters/websearch/local/worker.ts', import.meta.url)
    const opened = Promise.withResolvers<void>()
    let isSecond = false
    client = openIndexClient({
      indexPath,
      maxThreads: 2,
      start: (events) => {
        const watches = isSecond
        isSecond = true
        const isOpen = () => {
          events.opened()
          if (watches) opened.resolve()
        }
        return startIndexThread(script, indexPath, { ...events, opened: isOpen })
      },
    })
    const provider = contextProvider(client, undefined, BASE_URL, () => NOW)
    const found = async () => {
      const asked = ['a', 'b', 'c', 'd'].map((caller) =>
        provider.call(contextInput('marimba'), never, { caller, traceparent: null }),
      )
      const answers = await Promise.all(asked)
      return answers.map((answer) => answer.ok && String(answer.value.body).includes('https://pages.example/marimba/'))
    }
    // An answer shows that the first thread has begun; only then does a search start another one.
    expect(await kindOf(client.ask({ kind: 'ready' }, 'a', never))).toBe('ok')
    const first = found()
    await opened.promise
    expect(await first).toEqual([false, false, false, false])
    expect(await found()).toEqual([false, false, false, false])
    await buildIndex({ indexPath, ...project, extraDocuments: pagesAbout('marimba', 1, 1) })
    expect(await found()).toEqual([true, true, true, true])
    await client.close()
    expect(await kindOf(client.ask({ kind: 'ready' }, 'a', never))).toBe('unavailable')
  })
})

describe.skipIf(!canListOpenFiles)('the threads of closed clients', () => {
  test('leave their file closed', async () => {
    const indexPath = join(folder.path, 'closed', 'search.db')
    await buildIndex({ indexPath, ...writeFixtureProject(join(folder.path, 'project')) })
    // This thread built it.
    await finalizeStatements()
    for (let closed = 0; closed < 8; closed++) {
      client = openIndexClient({ indexPath })
      expect(await kindOf(client.ask({ kind: 'ready' }, 'a', never))).toBe('ok')
      await client.close()
    }
    expect(openFilesBelow(join(folder.path, 'closed'))).toEqual([])
  })
})

describe('a thread that dies', () => {
  test('fails only the search it worked on, and the other thread continues', async () => {
    const asked = askMany(4, 'a')
    thread(0).open()
    thread(1).open()
    thread(0).die()
    for (let i = 0; i < 3; i++) thread(1).answer()
    expect(await Promise.all(asked.map(kindOf))).toEqual(['unavailable', 'ok', 'ok', 'ok'])
    await client.close()
  })
})

describe('a search whose goggles are not built yet', () => {
  const provider = () => contextProvider(client, undefined, BASE_URL, () => NOW)
  const search = (q: string, caller: string, signal = never) =>
    provider().call(contextInput(q), signal, { caller, traceparent: null })

  test('is queued again as if it had just arrived: other callers take their turns, and do not delay it further', async () => {
    const building = search('building', 'a')
    const others = ['1', '2', '3', '4', '5', '6'].map((q) => search(q, 'b'))
    await Promise.resolve()
    thread(0).open()
    for (let slice = 0; slice < 2; slice++) {
      thread(0).leaveUnbuilt()
      await new Promise(setImmediate)
      thread(0).answer()
      thread(0).answer()
    }
    for (let left = 0; left < 3; left++) thread(0).answer()
    expect(await Promise.all([building, ...others].map(kindOf))).toEqual(Array(7).fill('ok'))
    expect(threads.asked).toEqual(['building', '1', '2', 'building', '3', '4', 'building', '5', '6'])
    await client.close()
  })

  test('is not queued again if its caller hung up', async () => {
    const abort = new AbortController()
    const building = search('building', 'a', abort.signal)
    await Promise.resolve()
    thread(0).open()
    abort.abort()
    thread(0).leaveUnbuilt()
    expect(await kindOf(building)).toBe('timeout')
    expect(threads.asked).toEqual(['building'])
    await client.close()
  })
})

describe('waiting searches', () => {
  test('are limited per caller: the next one is rate limited at once, and another caller is not', async () => {
    const asked = askMany(BOUNDS.perCaller, 'a')
    const over = ask('over')
    expect(await over).toMatchObject({
      error: { kind: 'rate_limited', failure: { code: 'upstream_rate_limit', retryAfterSeconds: 1 } },
    })
    const other = ask('other', 'b')
    thread(0).open()
    thread(0).answer()
    thread(0).answer()
    expect(await kindOf(other)).toBe('ok')
    await client.close()
    expect((await Promise.all(asked.map(kindOf))).filter((kind) => kind === 'ok')).toHaveLength(1)
  })

  test('are limited in total, and the caller with the most waiting makes room for one with none', async () => {
    const flood = Array.from({ length: BOUNDS.inAll / BOUNDS.perCaller }, (_, at) =>
      askMany(BOUNDS.perCaller, `flood${at}-`),
    )
    const single = ask('single', 'z')
    const kinds = await Promise.all(flood.map((asked) => Promise.race([asked.at(-1), Promise.resolve(null)])))
    expect(kinds.filter((answer) => answer !== null)).toMatchObject([{ ok: false, error: { kind: 'rate_limited' } }])
    thread(0).open()
    // One turn of each of the eight, then its own.
    for (let i = 0; i < flood.length + 1; i++) thread(0).answer()
    expect(await kindOf(single)).toBe('ok')
    await client.close()
  })

  test('free their place when their caller aborts', async () => {
    const abort = new AbortController()
    const given = Array.from({ length: BOUNDS.perCaller }, (_, at) => client.ask(searchFor(`${at}`), 'a', abort.signal))
    abort.abort()
    expect(new Set(await Promise.all(given.map(kindOf)))).toEqual(new Set(['timeout']))
    const asked = askMany(BOUNDS.perCaller, 'a')
    thread(0).open()
    expect(threads.asked).toEqual(['a0'])
    await client.close()
    expect(new Set(await Promise.all(asked.map(kindOf)))).toEqual(new Set(['unavailable']))
  })
})
