import { expect, test } from 'bun:test'
import { brandSettings } from '../../server/config/brand'

const settings = (given: Record<string, string>) => brandSettings((name) => given[name] ?? null)

test('without settings, the service is named Gateway and shows what it sells', () => {
  expect(settings({})).toMatchObject({ storefront: true, brand: { name: 'Gateway', logo: null, support: null } })
})

test('an address for support is an email address or a URL', () => {
  const support = (text: string) => settings({ SUPPORT_ADDRESS: text }).brand.support
  expect(support('help@example.com')).toBe('mailto:help@example.com')
  expect(support('https://example.com/help')).toBe('https://example.com/help')
})

test.each([
  [{ BRAND_NAME: 'a\u202eb' }, 'BRAND_NAME'],
  [{ BRAND_NAME: 'x'.repeat(41) }, '1 to 40 characters'],
  [{ BRAND_ACCENT: 'red' }, 'a color such as #1f5fbf'],
  [{ BRAND_ACCENT: '#fff;}body{display:none' }, 'a color such as'],
  [{ TERMS_URL: 'javascript:alert(1)' }, 'a URL such as'],
  [{ SUPPORT_ADDRESS: 'nobody' }, 'a URL such as'],
  [{ BRAND_LOGO: '/etc/passwd' }, '.svg, .png or .webp'],
  [{ BRAND_LOGO: '/nowhere/logo.svg' }, 'could not be read'],
  [{ STOREFRONT: 'maybe' }, 'on, off'],
])('refuses %p by name', (given, message) => {
  expect(() => settings(given as unknown as Record<string, string>)).toThrow(message)
})
