import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { PublishedGoggles } from '../../../../server/adapters/websearch/goggles/published-goggles'
import { buildIndex } from '../../../../server/adapters/websearch/local/build/build-index'
import {
  type LocalWebsearch,
  openLocalWebsearch,
} from '../../../../server/adapters/websearch/local/open-local-websearch'
import type { OutboundFetch } from '../../../../server/core/outbound/outbound-fetch'
import { err, ok } from '../../../../server/core/result'
import { SOMEBODY } from '../../../support/somebody'
import { bodyOf, type ContextBody } from './bodies'
import { BASE_URL, contextInput, NOW, pagesAbout, temporaryFolder, writeFixtureProject } from './fixture-index'

const folder = temporaryFolder()
let search: LocalWebsearch
const PUBLISHED = '! name: a\n! description: b\n! public: true\n! author: c\n$discard\n/quartz/7|$boost'
const RULES_90_000 = Array.from({ length: 90_000 }, (_, i) => `/p${i}/$boost=${1 + (i % 10)}`).join('\n')
const TEXTS = new Map([
  ['seven.goggle', PUBLISHED],
  ['large-one.goggle', `${PUBLISHED}\n${RULES_90_000}`],
])
const fetchPublished: OutboundFetch = async ({ url }) => {
  const text = TEXTS.get(url.split('/').at(-1) ?? '')
  return text
    ? ok({ url, status: 200, headers: new Headers(), contentType: 'text/plain', body: Buffer.from(text) })
    : err({ kind: 'too_large', reason: 'large' })
}

beforeAll(async () => {
  const indexPath = join(folder.path, 'search.db')
  const sources = writeFixtureProject(join(folder.path, 'project'))
  await buildIndex({ indexPath, ...sources, extraDocuments: pagesAbout('quartz', 30, 3) })
  const goggles = new PublishedGoggles(fetchPublished, { now: () => NOW })
  search = openLocalWebsearch({ indexPath, baseUrl: BASE_URL, now: () => NOW, goggles })
})
afterAll(async () => {
  await search.close()
  folder.remove()
})

const pages = async (goggles: readonly string[], more = {}) => {
  const body = await bodyOf<ContextBody>(search.context, contextInput('quartz', { goggles, ...more }))
  return body.grounding.generic.map(({ url }) => url.replace('https://pages.example/quartz/', ''))
}

describe('goggles on the local index (spec 4.2)', () => {
  test('a boost moves a page to the top, even from beyond `count`', async () => {
    const plain = await pages([], { count: 5 })
    expect(plain).toHaveLength(5)
    const outside = ['0', '10', '20', '25', '29', '15'].find((page) => !plain.includes(page))
    const boosted = await pages([`/quartz/${outside}|$boost=10`], { count: 5 })
    expect(boosted[0]).toBe(outside!)
    expect(boosted).toHaveLength(5)
  })

  test('a downrank moves the first page away from the top', async () => {
    const [first] = await pages([])
    const after = await pages([`/quartz/${first}|$downrank=5`], { count: 50, maximum_number_of_urls: 50 })
    expect(after[0]).not.toBe(first!)
    expect(after).toContain(first!)
  })

  test('a discard removes, and a generic one leaves only what is named', async () => {
    expect(await pages(['$discard,site=pages.example'])).toEqual([])
    expect((await pages(['$discard', '/quartz/3|\n/quartz/4|'])).sort()).toEqual(['3', '4'])
  })

  test('rules can match titles and texts', async () => {
    expect(await pages(['$discard\n|page 12 about$intitle'])).toEqual(['12'])
    expect(await pages(['$discard\nitem 12 and$incontent'])).toEqual(['12'])
  })

  test('a published one is applied', async () => {
    expect(await pages(['https://gitlab.com/a/b/-/raw/main/seven.goggle'])).toEqual(['7'])
  })

  test('those that take more than 200 ms of the thread shared by all searches are refused, and the next search is answered', async () => {
    const large = Array.from({ length: 4000 }, (_, i) => `and^the^${i}$incontent\nitem^${i % 10}^$incontent`).join('\n')
    const short = Array.from({ length: 900 }, (_, i) => `a^*${i % 10}^$incontent,boost=${1 + (i % 9)}`).join('\n')
    const asked = (goggles: string[]) =>
      search.context.call(contextInput('quartz', { goggles }), new AbortController().signal, SOMEBODY)
    for (const goggles of [[large, short, `${short}\nx$incontent`, `${short}\ny$incontent`]]) {
      const answer = await asked(goggles)
      expect(answer).toMatchObject({ ok: false, error: { kind: 'invalid_input', input: { param: 'goggles' } } })
      expect(JSON.stringify(answer)).toContain('200 ms')
    }
    expect((await asked([])).ok).toBe(true)
  })

  test('a published one of 90,000 rules is built between other searches, and works', async () => {
    const address = 'https://gitlab.com/a/b/-/raw/main/large-one.goggle'
    expect(await pages([address])).toEqual(['7'])
    expect(await pages([address, '/quartz/8|'])).toHaveLength(2)
  })

  test('an error in a published one is the response', async () => {
    const input = contextInput('quartz', { goggles: ['https://gitlab.com/a/b/-/raw/main/large.goggle'] })
    const answer = await search.context.call(input, new AbortController().signal, SOMEBODY)
    expect(answer).toMatchObject({ ok: false, error: { kind: 'invalid_input', input: { param: 'goggles' } } })
  })
})
