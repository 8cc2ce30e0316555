import { expect, test } from 'bun:test'
import { oauthApp } from '../support/agents/oauth'
import { openHarness } from '../support/harness'
import { openCli } from './fake-terminal'

test('social: link and post with a named key while signed in; each write has its own idempotency key', async () => {
  const gateway = await openHarness()
  const owner = await gateway.owner()
  const app = oauthApp(gateway, owner)
  await using cli = await openCli(gateway, {
    browser: async (address) => {
      const { location } = await app.visit(new URL(address))
      const { body } = await app.decide(location!, true)
      await fetch(String(body.url))
      return true
    },
  })
  expect((await cli.run('login')).code).toBe(0)
  const made = (await (await owner.api('/api/keys', { name: 'social' })).json()) as { key: { id: string } }
  const linked = await cli.run('social', 'link', '--key-id', made.key.id)
  expect(`${linked.code} ${linked.err}`).toStartWith('0')
  expect(linked.out).toContain('http')
  const posted = await cli.run('social', 'post', 'hello', 'world', '--key-id', made.key.id)
  expect([posted.code, posted.err]).toEqual([1, expect.stringContaining('social_session_required')])
  const sent = cli.sent.at(-1)!
  expect(await sent.json()).toEqual({ content: 'hello world', key_id: made.key.id })
  expect(sent.headers.get('idempotency-key')).toMatch(/^[0-9a-f-]{36}$/)
  for (const option of ['--idempotency-key', '--name']) {
    await cli.run('social', 'post', 'hello', '--key-id', made.key.id, option, `set by ${option}`)
    expect(cli.sent.at(-1)!.headers.get('idempotency-key')).toBe(`set by ${option}`)
  }
  await gateway.close()
})
