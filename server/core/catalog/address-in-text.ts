import { COUNTRY_DOMAINS, GENERIC_DOMAINS } from './top-level-domains'

/** Matches anything that looks like a host name, with an optional path. */
const HOST =
  /(?<![\p{L}\p{N}@#$_.-])((?:[\p{L}\p{N}](?:[\p{L}\p{N}_-]*[\p{L}\p{N}])?\.)+)(\p{L}{2,}|xn--[a-z0-9-]+)(?![\p{L}\p{N}@_-])(\/\S)?/giu
/** The two country domains that the network links even without a path. */
const LINKED_COUNTRIES = new Set(['co', 'tv'])

/**
 * Whether the network would turn part of the text into a link, which costs more (spec D7). Follows its own rules
 * (twitter-text): a URL with a scheme, or a host name with a known top-level domain. A single label before a country domain
 * counts only with a path, so that a file name such as `readme.md` is not a link.
 */
export function holdsAddress(text: string): boolean {
  if (/https?:\/\/\S/i.test(text)) return true
  for (const [, labels = '', domain = '', path] of text.matchAll(HOST)) {
    const topLevel = domain.toLowerCase()
    if (GENERIC_DOMAINS.has(topLevel) || topLevel.startsWith('xn--')) return true
    if (!COUNTRY_DOMAINS.has(topLevel)) continue
    if (path !== undefined || LINKED_COUNTRIES.has(topLevel) || labels.split('.').length > 2) return true
  }
  return false
}
