import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { offlineList, vulnerable } from '../../tools/advisories'
import { shippedComponents } from '../../tools/sbom'

const ROOT = join(import.meta.dir, '../..')
const component = (name: string, version: string) => ({ name, version, licence: 'MIT', sha512: null })

describe('the offline list of advisories', () => {
  test('names nothing that is shipped, is dated, and each of its entries names a package that is', async () => {
    const [{ dated, advisories }, components] = await Promise.all([offlineList(ROOT), shippedComponents(ROOT)])
    expect(vulnerable(components, advisories)).toEqual([])
    expect(Date.parse(dated)).toBeGreaterThan(Date.UTC(2026, 10, 1))
    expect(advisories.length).toBeGreaterThan(20)
    const names = new Set(components.map(({ name }) => name))
    expect(advisories.filter((one) => !names.has(one.package))).toEqual([])
    // A range that matches nothing would never fail.
    const some = [...Array(10 * 50 * 30).keys()].map(
      (i) => `${i % 10}.${Math.floor(i / 10) % 50}.${Math.floor(i / 500)}`,
    )
    expect(advisories.filter(({ versions }) => !some.some((one) => Bun.semver.satisfies(one, versions)))).toEqual([])
  })

  test('a version in it is named with the advisory, and the one that mended it is not', async () => {
    const { advisories } = await offlineList(ROOT)
    const shown = vulnerable([component('drizzle-orm', '0.45.1'), component('drizzle-orm', '0.45.2')], advisories)
    expect(shown).toEqual(['drizzle-orm 0.45.1 has GHSA-gpj5-g38j-94v9 (<0.45.2): SQL injection by identifiers'])
  })
})

describe('bun run advisories', () => {
  /** Runs it against a registry that answers so. */
  async function run(answer: () => Response): Promise<{ code: number; said: string; asked: number }> {
    let asked = 0
    const registry = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch() {
        asked++
        return answer()
      },
    })
    try {
      const child = Bun.spawn([process.execPath, 'tools/advisories.ts'], {
        cwd: ROOT,
        env: { PATH: process.env['PATH'] ?? '', BUN_CONFIG_REGISTRY: `http://127.0.0.1:${registry.port}/` },
        stdout: 'pipe',
        stderr: 'pipe',
      })
      const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
      return { code: await child.exited, said: out + err, asked }
    } finally {
      await registry.stop(true)
    }
  }
  const advisory = (versions: string) => ({
    id: 1,
    url: 'https://github.com/advisories/GHSA-aaaa-bbbb-cccc',
    title: 'a hole',
    severity: 'high',
    vulnerable_versions: versions,
  })

  test('fails by name where the registry knows a hole in what is shipped, and not for a package of the tests', async () => {
    const { code, said, asked } = await run(() =>
      Response.json({ elysia: [advisory('<99')], knip: [advisory('<99')], ws: [advisory('<1')] }),
    )
    expect({ code, asked: asked > 0 }).toEqual({ code: 1, asked: true })
    expect(said).toMatch(/^elysia [\d.]+ has GHSA-aaaa-bbbb-cccc \(<99\): a hole$/m)
    expect(said).not.toContain('knip')
    expect(said).not.toContain('ws 8')
  })

  test('passes where it knows none, and by the offline list where it does not answer', async () => {
    expect((await run(() => Response.json({}))).code).toBe(0)
    const { code, said } = await run(() => new Response('no', { status: 405 }))
    expect(said).toMatch(/^The registry does not answer \(.*405.*\); ops\/advisories\.json of \d{4}-/m)
    expect(code).toBe(0)
  })
})
