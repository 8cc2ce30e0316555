import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { dependencies, devDependencies } from '../../package.json'
import { cyclonedx, dashboardPackages, shippedComponents, unaccepted } from '../../tools/sbom'

const ROOT = join(import.meta.dir, '../..')

test('the bill of materials has every package of the server, the dashboard and the API reference at its pinned version, with hash and licence, and each licence is accepted', async () => {
  const components = await shippedComponents(ROOT)
  const byId = new Map(components.map((component) => [`${component.name}@${component.version}`, component]))
  const built = await dashboardPackages(ROOT)
  expect([...built]).toEqual(expect.arrayContaining(['react', 'react-dom', 'recharts', 'radix-ui', 'tailwindcss']))
  const inDashboard = Object.entries(devDependencies).filter(([name]) => built.has(name))
  expect(inDashboard.length).toBeGreaterThan(5)
  for (const [name, version] of [...Object.entries(dependencies), ...inDashboard]) {
    const component = byId.get(`${name}@${version}`)
    expect({ name, licence: typeof component?.licence }).toEqual({ name, licence: 'string' })
    expect(component?.sha512).toMatch(/^[0-9a-f]{128}$/)
  }
  expect(byId.get(`bun@${Bun.version}`)?.licence).toContain('LGPL')
  expect(byId.has(`@scalar/api-reference@${devDependencies['@scalar/api-reference']}`)).toBe(true)
  expect(unaccepted(components)).toEqual([])
  expect(cyclonedx('0.1.0', components)).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' })
})

test('a package with another licence, or with none, is named', () => {
  const of = (licence: string | null) => ({ name: 'x', version: '1.0.0', licence, sha512: null })
  const refused = ['AGPL-3.0-only', 'MIT AND GPL-2.0', 'UNLICENSED', 'not named'].map(of)
  const accepted = ['MIT', '(MIT OR GPL-3.0)', 'MIT AND ISC', null].map(of)
  expect(unaccepted([...refused, ...accepted])).toEqual(refused)
})
