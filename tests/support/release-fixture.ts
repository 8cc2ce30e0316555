import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { version } from '../../package.json'
import { executeOn, openFile } from './databases/database-file'
import { openHarness } from './harness'

/** The folder of data that released versions left: `VERSION.tar.zst`. */
export const RELEASES = join(import.meta.dir, '..', 'fixtures', 'releases')
const EXPECTED = 'expected.json'
export const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'

/** The state that the data of a release must keep. */
export interface Expected {
  readonly email: string
  readonly secret: string
  readonly revokedSecret: string
  readonly balanceMicros: number
  readonly charged: readonly string[]
}

/** Unpacks the data of a release into a folder. */
export async function extractRelease(release: string, folder: string): Promise<Expected> {
  const archive = await Bun.zstdDecompress(await Bun.file(join(RELEASES, `${release}.tar.zst`)).bytes())
  await new Bun.Archive(archive).extract(folder)
  return (await Bun.file(join(folder, EXPECTED)).json()) as Expected
}

/**
 * Writes the data that this version leaves when it is killed: an owner with keys and charges, of which the last two are only in the log.
 * Run it once per release, with `bun tests/support/release-fixture.ts`, and commit the file.
 */
async function writeFixture(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'release-'))
  const h = await openHarness()
  const owner = await h.owner('ada@example.com')
  const made = async (name: string) =>
    (await (await owner.api('/api/keys', { name, spending_limit: 1 })).json()) as {
      key: { id: string }
      secret: string
    }
  const [key, revoked] = [await made('first'), await made('leaked')]
  const end = await owner.api(`/api/keys/${revoked.key.id}/revoke`, {})
  if (end.status !== 200) throw new Error(await end.text())
  const call = async () => (await h.as(key.secret, SEARCH)).headers.get('x-request-id') ?? ''
  const charged = [await call(), await call()]
  await h.as(key.secret, '/apis/v1/websearch/images/search')
  await h.core.stores.applied()
  const blocker = openFile(h.databaseFile)
  const lock = await blocker.transaction('write')
  charged.push(await call(), await call())
  await executeOn(h.databaseFile, 'VACUUM INTO ?', [join(folder, 'gateway.db')])
  await cp(`${h.databaseFile}.log`, join(folder, 'gateway.db.log'))
  await lock.rollback()
  const account = (await (await owner.api('/api/account')).json()) as { balance_micros_usd: number }
  const expected: Expected = {
    ...{ email: owner.email, secret: key.secret, revokedSecret: revoked.secret },
    ...{ balanceMicros: account.balance_micros_usd, charged },
  }
  await h.close()
  const files: Record<string, Uint8Array> = { [EXPECTED]: Buffer.from(JSON.stringify(expected)) }
  for (const name of ['gateway.db', 'gateway.db.log']) files[name] = await Bun.file(join(folder, name)).bytes()
  await mkdir(RELEASES, { recursive: true })
  await Bun.write(
    join(RELEASES, `${version}.tar.zst`),
    await Bun.zstdCompress(await new Bun.Archive(files).bytes(), { level: 19 }),
  )
  await rm(folder, { recursive: true })
}

if (import.meta.main) {
  await writeFixture()
  process.exit(0)
}
