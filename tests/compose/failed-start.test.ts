import { expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openHarness } from '../support/harness'

test('a start that fails after it opened the database closes it: the next one in the same process can open it', async () => {
  const { folder, close } = await openHarness()
  await close(true)
  const env = { MODELS_FILE: join(folder, 'models.json') }
  await Bun.write(env.MODELS_FILE, '{ "models": [{}] }')
  const failure = await openHarness({ folder, env }).catch((error: Error) => error.message)
  expect(failure).toContain('models.json')
  const gateway = await openHarness({ folder })
  expect(await gateway.core.accounts.count()).toBe(0)
  await gateway.close(true)
  await rm(folder, { recursive: true })
})
