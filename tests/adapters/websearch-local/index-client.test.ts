import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { buildIndex } from '../../../server/adapters/websearch/local/build-index'
import { type IndexClient, openIndexClient } from '../../../server/adapters/websearch/local/index-client'
import { type LocalWebsearch, openLocalWebsearch } from '../../../server/adapters/websearch/local/open-local-websearch'
import type { Question } from '../../../server/adapters/websearch/local/question'
import {
  BASE_URL,
  contextInput,
  imageInput,
  NOW,
  pagesAbout,
  temporaryFolder,
  writeFixtureProject,
} from './fixture-index'

const folder = temporaryFolder()
const indexPath = join(folder.path, 'search.db')
let search: LocalWebsearch

beforeAll(async () => {
  const extraDocuments = pagesAbout('quartz', 10, 10)
  await buildIndex({ indexPath, ...writeFixtureProject(join(folder.path, 'project')), extraDocuments })
  search = openLocalWebsearch({ indexPath, baseUrl: BASE_URL, now: () => NOW })
})
afterAll(async () => {
  await search.close()
  folder.remove()
})

const never = new AbortController().signal
const asking = (q: string): Question => ({
  kind: 'images',
  baseUrl: BASE_URL,
  input: { q, count: 1, spellcheck: false, region: { country: 'ALL', language: 'en' }, mostAdult: 2 },
})

function clientOfStandIn(): IndexClient {
  return openIndexClient({ indexPath, workerUrl: new URL('./crashing-worker.ts', import.meta.url) })
}

describe('words that look like syntax', () => {
  test.each([
    '"',
    '""" OR "',
    'NEAR(quartz page, 2)',
    'NEAR(',
    'quartz*',
    '*',
    '^quartz',
    'title:quartz',
    '{title text} : quartz',
    'quartz AND',
    'NOT quartz',
    'OR OR OR',
    '(((',
    '- + ~ ! ? . , ; : \\ / | & % $ # @',
    "'; DROP TABLE documents; --",
    '\u0000quartz\u0000',
    '\ud800quartz',
    '😀'.repeat(400),
    'e\u0301\u0301\u0301',
    '\u0301',
    'a'.repeat(600),
    Array.from({ length: 75 }, (_, at) => `word${at}`).join(' '),
    '   ',
  ])('%j is a search like any other', async (q) => {
    expect((await search.context.call(contextInput(q), never)).ok).toBe(true)
    expect((await search.images.call(imageInput(q), never)).ok).toBe(true)
  })

  test('such words are searched as words', async () => {
    const answer = await search.context.call(contextInput('NEAR("quartz" *)'), never)
    expect(answer.ok && String(answer.value.body)).toContain('https://pages.example/quartz/')
  })
})

describe('abort', () => {
  test('a call given up before it starts answers timeout', async () => {
    const answer = await search.context.call(contextInput('quartz'), AbortSignal.abort())
    expect(answer).toMatchObject({ ok: false, error: { kind: 'timeout' } })
  })

  test('a call given up while it waits answers timeout at once, and others are not touched', async () => {
    const client = clientOfStandIn()
    const abort = new AbortController()
    const waits = client.ask(asking('wait'), abort.signal)
    const answers = client.ask(asking('answer'), never)
    abort.abort()
    expect(await waits).toMatchObject({ ok: false, error: { kind: 'timeout' } })
    expect(await answers).toEqual({ ok: true, value: { body: '1' } })
    await client.close()
  })

  test('a signal that aborts after the answer changes nothing', async () => {
    const abort = new AbortController()
    const answer = await search.context.call(contextInput('quartz'), abort.signal)
    abort.abort()
    expect(answer.ok).toBe(true)
  })
})

describe('a thread that dies', () => {
  test.each(['die', 'throw'])('fails what it was asked (%s), and the next call has a new one', async (how) => {
    const client = clientOfStandIn()
    expect(await client.ask(asking('one'), never)).toEqual({ ok: true, value: { body: '1' } })
    const lost = await Promise.all([client.ask(asking('wait'), never), client.ask(asking(how), never)])
    for (const answer of lost) expect(answer).toMatchObject({ ok: false, error: { kind: 'unavailable' } })
    expect(await client.ask(asking('again'), never)).toEqual({ ok: true, value: { body: '1' } })
    await client.close()
  })
})

describe('many calls at once', () => {
  test('each has its own answer', async () => {
    const words = ['quartz', 'chuck', 'walnut', 'marzipan', 'chisels']
    const asked = Array.from({ length: 100 }, (_, at) => words[at % words.length]!)
    const answers = await Promise.all(asked.map((q) => search.context.call(contextInput(q), never)))
    const originals = answers.map((answer) => answer.ok && JSON.parse(String(answer.value.body)).query.original)
    expect(originals).toEqual(asked)
  })
})

describe('close', () => {
  test('answers unavailable to what is asked and to what comes later, and may be called twice', async () => {
    const client = clientOfStandIn()
    const waits = client.ask(asking('wait'), never)
    await client.close()
    await client.close()
    expect(await waits).toMatchObject({ ok: false, error: { kind: 'unavailable' } })
    expect(await client.ask(asking('late'), never)).toMatchObject({ ok: false, error: { kind: 'unavailable' } })
  })
})
