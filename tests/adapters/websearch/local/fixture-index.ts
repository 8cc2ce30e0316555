import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { IndexDocument, IndexImage } from '../../../../server/adapters/websearch/local/build/index-document'
import type { ImageSearchInput } from '../../../../server/core/catalog/image-search'
import type { LlmContextInput } from '../../../../server/core/catalog/llm-context'

export const BASE_URL = 'https://gateway.example'
export const NOW = Date.parse('2026-03-20T12:00:00Z')

/** A folder of its own for one test file; `remove` takes it away. */
export function temporaryFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'websearch-local-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export function writeFiles(root: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}

const ICON = '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"></svg>'

/** A project with three packages and an icon set, under `root`; answers the sources of its index. */
export function writeFixtureProject(root: string): { nodeModules: string; projectRoot: string } {
  writeFiles(root, {
    'package.json': JSON.stringify({ name: 'fixture-project', dependencies: { lathe: '1.0.0' } }),
    'README.md': '# Fixture project\n\nThe gateway of the fixture sells marzipan.\n',
    'docs/deep/bells.md': '# Bells\n\nHow the fixture rings its carillon.\n',
    'node_modules/lathe/package.json': JSON.stringify({
      name: 'lathe',
      version: '1.2.0',
      description: 'Turns wood in rounds',
      homepage: 'https://lathe.example',
      keywords: ['woodturning'],
    }),
    'node_modules/lathe/README.md': LATHE_README,
    'node_modules/lathe/CHANGELOG.md':
      '# Changes\n\n## 1.2.0 (2026-03-10)\n\n- faster\n\n## 1.1.0 (2025-01-01)\n\n- slower\n',
    'node_modules/lathe/docs/speed.md':
      '# Speed\n\nCall setSpindleSpeed before the wood is round.\n\n```ts\nsetSpindleSpeed(900)\n```\n',
    'node_modules/lathe/docs/safety.mdx': '---\ntitle: Safety first\n---\n\nWear goggles near the chuck.\n',
    'node_modules/lathe-kit/package.json': JSON.stringify({
      name: 'lathe-kit',
      version: '0.1.0',
      homepage: 'https://lathe.example',
    }),
    'node_modules/lathe-kit/README.md': '# lathe-kit\n\nA box of chisels.\n',
    'node_modules/lucide-static/package.json': JSON.stringify({ name: 'lucide-static', version: '1.0.0' }),
    'node_modules/lucide-static/tags.json': JSON.stringify({
      'credit-card': ['bank', 'purchase'],
      wallet: ['credit', 'card'],
    }),
    'node_modules/lucide-static/icons/credit-card.svg': ICON,
    'node_modules/lucide-static/icons/credit-card-plus.svg': ICON,
    'node_modules/lucide-static/icons/wallet.svg': ICON,
    'node_modules/lucide-static/icons/card-sim.svg': ICON,
  })
  return { nodeModules: join(root, 'node_modules'), projectRoot: root }
}

const LATHE_README = `# lathe

![build](https://img.shields.io/badge.svg)
![A lathe](https://lathe.example/lathe.png)

Turns wood between centres.

## Chucks

A scroll chuck holds bowls. Tighten the jaws evenly.

\`\`\`ts
import { chuck } from 'lathe'
chuck.tighten()
\`\`\`

## Finishing

Sand along the grain, then oil the walnut.
`

/** `count` pages on one subject, each of `paragraphs` passages' length, so that every budget is in reach. */
export function pagesAbout(subject: string, count: number, paragraphs: number): IndexDocument[] {
  return Array.from({ length: count }, (_, page) => ({
    url: `https://pages.example/${subject}/${page}`,
    title: `Page ${page} about ${subject}`,
    markdown: Array.from({ length: paragraphs }, (_, at) => {
      const filler = `Item ${page} and ${at} says something of the ${subject} at length. `.repeat(12)
      return `## Part ${at}\n\n${filler}`
    }).join('\n\n'),
  }))
}

export const ADULT_DOCUMENTS: readonly IndexDocument[] = [
  {
    url: 'https://adult.example/nightclub',
    title: 'Nightclub revue',
    markdown: 'An adult revue at the nightclub.',
    adult: 2,
  },
  { url: 'https://plain.example/nightclub', title: 'Nightclub architecture', markdown: 'How a nightclub is built.' },
]

export const ADULT_IMAGES: readonly IndexImage[] = [
  image('https://adult.example/revue', 'Nightclub revue', { adult: 2 }),
  image('https://plain.example/facade', 'Nightclub facade', {}),
]

function image(pageUrl: string, title: string, more: Partial<IndexImage>): IndexImage {
  return { pageUrl, title, imageUrl: `${pageUrl}.jpg`, tags: [], width: 640, height: 480, ...more }
}

export function contextInput(q: string, more: Partial<LlmContextInput> = {}): LlmContextInput {
  return {
    q,
    count: 20,
    country: 'US',
    search_lang: 'en',
    enable_source_metadata: false,
    maximum_number_of_snippets: 50,
    maximum_number_of_snippets_per_url: 50,
    maximum_number_of_tokens: 8192,
    maximum_number_of_tokens_per_url: 4096,
    maximum_number_of_urls: 20,
    spellcheck: true,
    'api-version': '2026-07-31',
    ...more,
  }
}

export function imageInput(q: string, more: Partial<ImageSearchInput> = {}): ImageSearchInput {
  return {
    q,
    count: 50,
    country: 'US',
    search_lang: 'en',
    safesearch: 'strict',
    spellcheck: true,
    'api-version': '2026-07-31',
    ...more,
  }
}
