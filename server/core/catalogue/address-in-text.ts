import { COUNTRY_DOMAINS, GENERIC_DOMAINS } from './top-level-domains'

/** What has the form of a host name, with what stands before it and the path after it. */
const HOST =
  /(?<![\p{L}\p{N}@#$_.-])((?:[\p{L}\p{N}](?:[\p{L}\p{N}_-]*[\p{L}\p{N}])?\.)+)(\p{L}{2,}|xn--[a-z0-9-]+)(?![\p{L}\p{N}@_-])(\/\S)?/giu
/** The two countries whose bare domains the network links all the same. */
const LINKED_COUNTRIES = new Set(['co', 'tv'])

/**
 * Whether the network would make a link of something in the text, which costs more (spec-answers 7). As its own rules go
 * (twitter-text): an address with a scheme; or a host name of a known top-level domain, but one name before a country's domain
 * only with a path, so that a file such as `readme.md` is none.
 */
export function holdsAddress(text: string): boolean {
  if (/https?:\/\/\S/i.test(text)) return true
  for (const [, labels = '', domain = '', path] of text.matchAll(HOST)) {
    const end = domain.toLowerCase()
    if (GENERIC_DOMAINS.has(end) || end.startsWith('xn--')) return true
    if (!COUNTRY_DOMAINS.has(end)) continue
    if (path !== undefined || LINKED_COUNTRIES.has(end) || labels.split('.').length > 2) return true
  }
  return false
}
