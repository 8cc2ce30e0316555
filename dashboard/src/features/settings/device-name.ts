import { SETTINGS_TEXT as TEXT } from '../../messages/settings.ts'

/** Matched against user agents, most specific first: nearly all contain Safari, and Edge also contains Chrome. */
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
  ['curl/', 'curl'],
] as const

const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const

/** A name such as "Firefox on Windows"; for scripts, the first word of their user agent. */
export function deviceName(agent: string | null): string {
  if (!agent) return TEXT.unknownDevice
  const browser = BROWSERS.find(([mark]) => agent.includes(mark))?.[1]
  const system = SYSTEMS.find(([mark]) => agent.includes(mark))?.[1]
  if (browser && system) return TEXT.device(browser, system)
  return browser ?? agent.split(/[\s(]/, 1)[0]?.slice(0, 40) ?? TEXT.unknownDevice
}
