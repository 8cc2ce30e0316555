import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Ajv from 'ajv'
import { parse } from 'yaml'
import { ALL_SETTINGS, SETTING_GROUPS } from '../../server/config/schema/all-settings'
import { configurationSchema, documentation } from '../../server/config/schema/documentation'

const DOCS = join(import.meta.dir, '../../docs')
const STALE = 'run "bun run settings" and commit what it writes'

describe('the documentation of the settings', () => {
  test('is what the settings say, and its links lead somewhere', () => {
    const page = readFileSync(join(DOCS, 'configuration.md'), 'utf8')
    expect(page === documentation() ? 'current' : STALE).toBe('current')
    for (const [, file = '', heading] of page.matchAll(/\]\(([\w/.-]*)(?:#([\w-]+))?\)/g)) {
      const target = readFileSync(join(DOCS, file || 'configuration.md'), 'utf8')
      const anchors = [...target.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
        title
          .toLowerCase()
          .replaceAll(/[^\w\- ]/g, '')
          .replaceAll(' ', '-'),
      )
      if (heading) expect(anchors).toContain(heading)
    }
  })

  test('has a JSON Schema for editors, which knows every setting, the secrets in files, and no other name', () => {
    const published = JSON.parse(readFileSync(join(DOCS, 'gateway.schema.json'), 'utf8'))
    expect(Bun.deepEquals(published, configurationSchema()) ? 'current' : STALE).toBe('current')
    const valid = new Ajv({ strict: false, validateFormats: false }).compile(published)
    const example = /```yaml\n([\s\S]*?)```/.exec(documentation())?.[1] ?? ''
    expect([valid(parse(example)), valid.errors]).toEqual([true, null])
    for (const { name, secret, environmentOnly } of ALL_SETTINGS.values()) {
      expect([name, name in published.properties]).toEqual([name, !environmentOnly])
      expect([name, `${name}_FILE` in published.properties]).toEqual([name, secret])
    }
    for (const wrong of [
      { PORT: 'abc' },
      { PROT: 1 },
      { LOG_LEVEL: 'loud' },
      { SANDBOX_MODELS: 'yes' },
      { DATA_DIR: '/x' },
    ])
      expect(valid(wrong)).toBe(false)
  })

  test('every setting has one name, a meaning, and a default that it accepts itself', () => {
    expect(ALL_SETTINGS.size).toBe(SETTING_GROUPS.flatMap(({ settings }) => Object.keys(settings)).length)
    for (const setting of ALL_SETTINGS.values()) {
      expect(setting.name).toMatch(/^[A-Z][A-Z0-9_]+$/)
      expect(setting.doc).not.toBe('')
      expect(() => setting.of(() => null)).not.toThrow()
    }
  })
})
