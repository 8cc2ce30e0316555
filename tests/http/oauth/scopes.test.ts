import { expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { APP_TEXT } from '../../../dashboard/src/messages/apps'
import { CLI_SCOPES } from '../../../server/cli/sign-in'
import { SCOPES } from '../../../server/core/credentials/oauth-grant'

test('every scope is in the table of docs/agents.md, and has a text for the person who is asked', async () => {
  const page = await readFile(join(import.meta.dir, '../../../docs/agents.md'), 'utf8')
  const documented = [...page.matchAll(/^\| `([a-z]+:[a-z]+)` \|/gm)].map(([, scope = '']) => scope)
  expect(documented.toSorted()).toEqual([...SCOPES].toSorted())
  for (const texts of [APP_TEXT.scopes, APP_TEXT.access])
    expect(Object.keys(texts)).toEqual(expect.arrayContaining([...SCOPES]))
  expect([...SCOPES, 'offline_access']).toEqual(expect.arrayContaining(CLI_SCOPES.split(' ')))
})
