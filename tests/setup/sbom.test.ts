import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { dependencies } from '../../package.json'
import { cyclonedx, runtimeComponents, unaccepted } from '../../server/setup/sbom'

const ROOT = join(import.meta.dir, '../..')

test('the bill of materials has every dependency at its pinned version, with hash and licence, and each licence is accepted', async () => {
  const components = await runtimeComponents(ROOT)
  const byId = new Map(components.map((component) => [`${component.name}@${component.version}`, component]))
  for (const [name, version] of Object.entries(dependencies)) {
    const component = byId.get(`${name}@${version}`)
    expect({ name, licence: typeof component?.licence }).toEqual({ name, licence: 'string' })
    expect(component?.sha512).toMatch(/^[0-9a-f]{128}$/)
  }
  expect(unaccepted(components)).toEqual([])
  expect(cyclonedx('0.1.0', components)).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' })
})

test('a package with another licence, or with none, is named', () => {
  const of = (licence: string | null) => ({ name: 'x', version: '1.0.0', licence, sha512: null })
  const refused = ['AGPL-3.0-only', 'MIT AND GPL-2.0', 'UNLICENSED', 'not named'].map(of)
  const accepted = ['MIT', '(MIT OR GPL-3.0)', 'MIT AND ISC', null].map(of)
  expect(unaccepted([...refused, ...accepted])).toEqual(refused)
})
