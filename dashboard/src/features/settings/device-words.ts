import { SETTINGS_TEXT as TEXT } from '../../messages/settings.ts'

/** The first that a browser's own name for itself holds, from the most particular: nearly all say Safari, and Edge says Chrome. */
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

/** "Firefox on Windows"; for a script its own first word. */
export function deviceWords(agent: string | null): string {
  if (!agent) return TEXT.unknownDevice
  const browser = BROWSERS.find(([mark]) => agent.includes(mark))?.[1]
  const system = SYSTEMS.find(([mark]) => agent.includes(mark))?.[1]
  if (browser && system) return TEXT.device(browser, system)
  return browser ?? agent.split(/[\s(]/, 1)[0]?.slice(0, 40) ?? TEXT.unknownDevice
}
