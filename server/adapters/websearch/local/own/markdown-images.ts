import { proseOf } from '../../passages/markdown-sections'

/** An image in Markdown. */
export interface MarkdownImage {
  /** Absolute. */
  readonly imageUrl: string
  readonly alt: string
  readonly caption: string
}

const MARKDOWN = /!\[([^\]\n]{0,300})\]\(\s*<?([^\s()<>]{1,2000})>?(?:\s+["']([^"'\n]{0,300})["'])?\s*\)/g
const HTML = /<img\b([^<>]{0,1000})>/gi
const BADGE = /shields\.io|badge|\/workflows\/|codecov|travis|circleci|opencollective/i

/** The distinct images in a Markdown text, without badges. `base` is the URL of the text. */
export function markdownImages(markdown: string, base: string): MarkdownImage[] {
  const found = new Map<string, MarkdownImage>()
  const add = (address: string, alt: string, caption: string): void => {
    const url = URL.parse(address, base)
    if (!url || !/^https?:$/.test(url.protocol) || BADGE.test(url.href) || found.has(url.href)) return
    found.set(url.href, { imageUrl: url.href, alt: alt.trim(), caption: caption.trim() })
  }
  const prose = proseOf(markdown)
  for (const [, alt = '', address = '', caption = ''] of prose.matchAll(MARKDOWN)) add(address, alt, caption)
  for (const [, attributes = ''] of prose.matchAll(HTML)) {
    const value = (name: string) => new RegExp(`\\b${name}\\s*=\\s*["']([^"']*)["']`, 'i').exec(attributes)?.[1] ?? ''
    if (value('src') !== '') add(value('src'), value('alt'), value('title'))
  }
  return [...found.values()]
}
