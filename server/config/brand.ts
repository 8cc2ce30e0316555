import { readFileSync } from 'node:fs'
import { type Brand, DEFAULT_BRAND, type Logo } from '../core/brand'
import { isPlainLine, PLAIN_LINE_RULE } from '../core/plain-text'
import { ConfigError } from './config-error'
import { choice, group, invalidSetting, type Read, setting, text } from './schema/setting'

const MAX_NAME = 40
const MAX_SENTENCE = 200
const MAX_LOGO_BYTES = 200_000
const LOGO_TYPES: Readonly<Record<string, string>> = { svg: 'image/svg+xml', png: 'image/png', webp: 'image/webp' }

export const BRAND = group(
  'Name and look',
  'What customers see: on the page for strangers at `/`, in the dashboard, in documents and at sign-in.',
  {
    STOREFRONT: choice({
      default: 'on',
      values: ['on', 'off'],
      doc: '`off`: strangers at `/` get the sign-in page, instead of what is sold with its prices',
    }),
    BRAND_NAME: line(MAX_NAME, DEFAULT_BRAND.name, 'The name of your service', 'Acme Data'),
    BRAND_SENTENCE: line(
      MAX_SENTENCE,
      DEFAULT_BRAND.sentence,
      'One sentence about what you sell',
      'Weather for robots.',
    ),
    BRAND_ACCENT: text({
      default: DEFAULT_BRAND.accent,
      is: /^#[0-9a-f]{6}$/i,
      rule: 'a color such as #1f5fbf',
      doc: 'The color of buttons on the page for strangers',
    }),
    BRAND_LOGO: setting(
      {
        default: null,
        otherwise: 'no logo',
        example: '/etc/gateway/logo.svg',
        doc: 'File of a logo: SVG, PNG or WebP of at most 200 kB, read at the start',
      },
      { type: 'string' },
      readLogo,
    ),
    SUPPORT_ADDRESS: setting(
      {
        default: null,
        otherwise: 'none',
        example: 'help@example.com',
        doc: 'Where customers get help: an email address or a URL',
      },
      { type: 'string' },
      (value, name) => (/^[^\s@/:]+@[^\s@/:]+$/.test(value) ? `mailto:${value}` : webUrl(value, name)),
    ),
    TERMS_URL: link('Your terms of service', 'https://example.com/terms'),
    PRIVACY_URL: link('Your privacy policy', 'https://example.com/privacy'),
  },
)

export interface BrandSettings {
  readonly brand: Brand
  /** Whether strangers at `/` see what is sold. */
  readonly storefront: boolean
}

export function brandSettings(read: Read): BrandSettings {
  const { settings } = BRAND
  return {
    storefront: settings.STOREFRONT.of(read) === 'on',
    brand: {
      name: settings.BRAND_NAME.of(read),
      sentence: settings.BRAND_SENTENCE.of(read),
      accent: settings.BRAND_ACCENT.of(read).toLowerCase(),
      logo: settings.BRAND_LOGO.of(read),
      support: settings.SUPPORT_ADDRESS.of(read),
      terms: settings.TERMS_URL.of(read),
      privacy: settings.PRIVACY_URL.of(read),
    },
  }
}

function line(max: number, fallback: string, doc: string, example: string) {
  return setting({ default: fallback, doc, example }, { type: 'string', maxLength: max }, (value, name) => {
    const text = value.trim()
    if (text === '' || [...text].length > max || !isPlainLine(text))
      throw invalidSetting(name, `text of 1 to ${max} characters, ${PLAIN_LINE_RULE}`, value)
    return text
  })
}

function link(doc: string, example: string) {
  return setting({ default: null, otherwise: 'none', doc, example }, { type: 'string' }, webUrl)
}

function webUrl(value: string, name: string): string {
  const url = URL.parse(value)
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
    throw invalidSetting(name, 'a URL such as https://example.com/page', value)
  return url.href
}

function readLogo(path: string, name: string): Logo {
  const type = LOGO_TYPES[path.slice(path.lastIndexOf('.') + 1).toLowerCase()]
  if (type === undefined) throw invalidSetting(name, 'the path of a file whose name ends in .svg, .png or .webp', path)
  try {
    const bytes = new Uint8Array(readFileSync(path))
    if (bytes.byteLength <= MAX_LOGO_BYTES) return { bytes, type }
  } catch (error) {
    throw new ConfigError(`${name}: ${path} could not be read (${error instanceof Error ? error.message : 'unknown'})`)
  }
  throw invalidSetting(name, `a file of at most ${MAX_LOGO_BYTES / 1000} kB`, path)
}
