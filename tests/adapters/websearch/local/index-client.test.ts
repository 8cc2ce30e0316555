import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { buildIndex } from '../../../../server/adapters/websearch/local/build/build-index'
import { type IndexClient, openIndexClient } from '../../../../server/adapters/websearch/local/index-client'
import { startIndexThread } from '../../../../server/adapters/websearch/local/index-thread'
import {
  type LocalWebsearch,
  openLocalWebsearch,
} from '../../../../server/adapters/websearch/local/open-local-websearch'
import type { IndexQuestion } from '../../../../server/adapters/websearch/local/query/question'
import { SOMEBODY } from '../../../support/somebody'
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
const asking = (q: string): IndexQuestion => ({
  kind: 'images',
  baseUrl: BASE_URL,
  input: { q, count: 1, spellcheck: false, region: { country: 'ALL', language: 'en' }, maxAdult: 2 },
})

function clientOfStandIn(): IndexClient {
  const script = new URL('./crashing-worker.ts', import.meta.url)
  return openIndexClient({ indexPath, maxThreads: 1, start: (events) => startIndexThread(script, indexPath, events) })
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
  ])('%j is an ordinary search', async (q) => {
    expect((await search.context.call(contextInput(q), never, SOMEBODY)).ok).toBe(true)
    expect((await search.images.call(imageInput(q), never, SOMEBODY)).ok).toBe(true)
  })

  test('such words are searched as words', async () => {
    const answer = await search.context.call(contextInput('NEAR("quartz" *)'), never, SOMEBODY)
    expect(answer.ok && String(answer.value.body)).toContain('https://pages.example/quartz/')
  })
})

describe('abort', () => {
  test('a call aborted before it starts answers timeout', async () => {
    const answer = await search.context.call(contextInput('quartz'), AbortSignal.abort(), SOMEBODY)
    expect(answer).toMatchObject({ ok: false, error: { kind: 'timeout' } })
  })

  test.each(['answered', 'next in line'])('a call aborted while it is %s answers timeout at once', async (state) => {
    const client = clientOfStandIn()
    const abort = new AbortController()
    const before = state === 'next in line' ? [client.ask(asking('wait'), 'a', never)] : []
    const waits = client.ask(asking('wait'), 'a', abort.signal)
    abort.abort()
    expect(await waits).toMatchObject({ ok: false, error: { kind: 'timeout' } })
    await client.close()
    for (const answer of await Promise.all(before))
      expect(answer).toMatchObject({ ok: false, error: { kind: 'unavailable' } })
  })

  test('a signal that aborts after the answer changes nothing', async () => {
    const abort = new AbortController()
    const answer = await search.context.call(contextInput('quartz'), abort.signal, SOMEBODY)
    abort.abort()
    expect(answer.ok).toBe(true)
  })
})

describe('a thread that dies', () => {
  test.each(['die', 'throw'])('fails the call it worked on (%s); waiting calls get a new thread', async (how) => {
    const client = clientOfStandIn()
    expect(await client.ask(asking('one'), 'a', never)).toEqual({ ok: true, value: { body: '1' } })
    const asked = [how, 'next', 'after'].map((q) => client.ask(asking(q), 'a', never))
    const [lost, ...others] = await Promise.all(asked)
    expect(lost).toMatchObject({ ok: false, error: { kind: 'unavailable' } })
    expect(others).toEqual(['1', '2'].map((body) => ({ ok: true, value: { body } })))
    await client.close()
  })
})

describe('many calls at once', () => {
  test('each get their own answer', async () => {
    const words = ['quartz', 'chuck', 'walnut', 'marzipan', 'chisels']
    const asked = Array.from({ length: 100 }, (_, at) => words[at % words.length]!)
    const answers = await Promise.all(asked.map((q) => search.context.call(contextInput(q), never, SOMEBODY)))
    const originals = answers.map((answer) => answer.ok && JSON.parse(String(answer.value.body)).query.original)
    expect(originals).toEqual(asked)
  })
})

describe('close', () => {
  test('answers unavailable to pending and later calls, and may be called twice', async () => {
    const client = clientOfStandIn()
    const waits = client.ask(asking('wait'), 'a', never)
    await client.close()
    await client.close()
    expect(await waits).toMatchObject({ ok: false, error: { kind: 'unavailable' } })
    expect(await client.ask(asking('late'), 'a', never)).toMatchObject({ ok: false, error: { kind: 'unavailable' } })
  })
})
