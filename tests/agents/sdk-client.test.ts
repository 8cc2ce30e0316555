import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { axeFindings, type Dashboard, follow, openDashboard, screenshot } from '../support/dashboard/browser'
import { fits } from '../support/dashboard/page-checks'

let dashboard: Dashboard
/** Where the browser is sent back to: the listener of an app on this machine. */
let back: ReturnType<typeof Bun.serve>
const came: URL[] = []
beforeAll(async () => {
  dashboard = await openDashboard()
  back = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const url = new URL(request.url)
      if (url.pathname === '/callback') came.push(url)
      return new Response('<title>Back</title>You can close this tab.', { headers: { 'content-type': 'text/html' } })
    },
  })
  dashboard.images.answer = async () => ({ ok: true, value: { body: '{"results":[]}' } })
})
afterAll(async () => {
  await back.stop(true)
  await dashboard.close()
})

/** The stored state of an agent, as the official SDK asks for it. */
class Agent implements OAuthClientProvider {
  client: OAuthClientInformationMixed | undefined
  saved: OAuthTokens | undefined
  verifier = ''
  address: URL | null = null
  readonly redirectUrl = `http://127.0.0.1:${back.port}/callback`
  readonly clientMetadata = {
    client_name: 'An agent',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
  state = () => 'the-state'
  clientInformation = () => this.client
  saveClientInformation = (client: OAuthClientInformationMixed) => {
    this.client = client
  }
  tokens = () => this.saved
  saveTokens = (tokens: OAuthTokens) => {
    this.saved = tokens
  }
  redirectToAuthorization = (url: URL) => {
    this.address = url
  }
  saveCodeVerifier = (verifier: string) => {
    this.verifier = verifier
  }
  codeVerifier = () => this.verifier
}

const transport = (agent: Agent) =>
  new StreamableHTTPClientTransport(new URL(`${dashboard.origin}/mcp`), { authProvider: agent })

async function connected(agent: Agent): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport(agent) as Parameters<Client['connect']>[0])
  return client
}

/** Asks for access and is sent to a browser. */
async function asking(): Promise<Agent> {
  const agent = new Agent()
  const outcome = await connected(agent).then(
    () => 'connected',
    (error: unknown) => error,
  )
  expect(outcome).toBeInstanceOf(UnauthorizedError)
  expect(agent.address).not.toBeNull()
  return agent
}

describe('the official SDK, from nothing to a call (spec 5.2)', () => {
  test('discovers, registers, is approved by a person at the consent page, calls a tool, refreshes, and is disconnected', async () => {
    const owner = await dashboard.signedIn()
    const agent = await asking()
    expect(agent.address?.searchParams.get('scope')).toBe('data:read usage:read offline_access')
    const { page } = await dashboard.visit(`${agent.address?.pathname}${agent.address?.search}`)
    await page.getByRole('heading', { name: 'An agent wants to access your account' }).waitFor()
    await page.getByText('This app is not verified').waitFor()
    await page.getByText(`http://127.0.0.1:${back.port}`).waitFor()
    await fits(page, 'consent')
    await page.getByLabel('Spending limit (USD)').fill('0.01')
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.waitForURL(`http://127.0.0.1:${back.port}/callback**`)
    await page.close()
    const answer = came.at(-1)
    expect(answer?.searchParams.get('state')).toBe('the-state')
    expect(answer?.searchParams.get('iss')).toBe(`${dashboard.origin}/api/auth`)
    await transport(agent).finishAuth(answer?.searchParams.get('code') ?? '')

    const client = await connected(agent)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('image_search')
    const called = await client.callTool({ name: 'image_search', arguments: { q: 'card' } })
    expect(called.structuredContent).toMatchObject({ results: [], gateway: { cost_micros_usd: 5000 } })
    expect(called._meta?.['gateway/cost_micros_usd']).toBe(5000)
    await client.callTool({ name: 'image_search', arguments: { q: 'card' } })
    const spent = await client.callTool({ name: 'image_search', arguments: { q: 'card' } })
    expect(spent.isError).toBe(true)
    expect(spent.structuredContent).toMatchObject({ error: { code: 'insufficient_api_key_balance' } })

    const old = agent.saved?.refresh_token
    agent.saved = { ...agent.saved!, access_token: 'gwat_dead' }
    await client.close()
    const refreshed = await connected(agent)
    expect((await refreshed.listTools()).tools.length).toBeGreaterThan(0)
    expect(agent.saved?.refresh_token).not.toBe(old)

    const { page: apps, complaints } = await dashboard.visit('/apps')
    await apps.getByRole('heading', { name: 'Connected apps', level: 1 }).waitFor()
    await apps.getByText('An agent').locator('visible=true').first().waitFor()
    await apps.getByText('$0.01').locator('visible=true').first().waitFor()
    await apps.getByText(`${dashboard.origin}/mcp`, { exact: true }).first().waitFor()
    await fits(apps, 'apps')
    await follow(apps, '/usage')
    await apps.getByRole('table', { name: 'Usage by key or app' }).getByText('An agent (app)').waitFor()
    await apps.getByLabel('Key or app', { exact: true }).selectOption({ label: 'An agent (app)' })
    await apps.waitForURL('**key=conn_**')
    await screenshot(apps, 'usage-of-an-app')
    await follow(apps, '/apps')
    await apps.getByRole('button', { name: 'Disconnect: An agent' }).click()
    await apps.getByRole('button', { name: 'Disconnect', exact: true }).click()
    await apps.getByText('No connected apps.').waitFor()
    expect(complaints()).toEqual([])
    await apps.close()
    const refused = await refreshed.listTools().then(
      () => 'listed',
      (error: unknown) => error,
    )
    // The SDK tries to refresh; that is refused too.
    expect(String(refused)).toContain('InvalidGrantError')
    expect((await owner.api('/api/apps')).status).toBe(200)
  })

  test('learns that the person declined', async () => {
    await dashboard.signedIn()
    const agent = await asking()
    const { page } = await dashboard.visit(`${agent.address?.pathname}${agent.address?.search}`)
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.waitForURL(`http://127.0.0.1:${back.port}/callback**`)
    expect(came.at(-1)?.searchParams.get('error')).toBe('access_denied')
    await page.close()
  })

  test('a person who is not signed in signs in first and then sees the request', async () => {
    const { email } = await dashboard.signedIn()
    await dashboard.browser.clearCookies()
    const agent = await asking()
    const { page } = await dashboard.visit(`${agent.address?.pathname}${agent.address?.search}`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill('correct horse battery')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'An agent wants to access your account' }).waitFor()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.waitForURL(`http://127.0.0.1:${back.port}/callback**`)
    expect(came.at(-1)?.searchParams.get('code')).toBeTruthy()
    await page.close()
  })

  test('an invalid request ends on our page, never at the app', async () => {
    const { page } = await dashboard.visit(
      '/api/auth/oauth2/authorize?response_type=code&client_id=nobody&redirect_uri=https%3A%2F%2Fevil.example',
    )
    await page.getByRole('heading', { name: 'Invalid access request' }).waitFor()
    expect(new URL(page.url()).origin).toBe(dashboard.origin)
    expect(await axeFindings(page)).toEqual([])
    await page.close()
  })
})

describe('a device', () => {
  test('enters its code on a page that shows the requested access, and is allowed', async () => {
    const owner = await dashboard.signedIn()
    const asked = await fetch(`${dashboard.origin}/api/auth/device/code`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'gateway-cli', scope: 'data:read', resource: `${dashboard.origin}/v1` }),
    })
    const { user_code: code } = (await asked.json()) as { user_code: string }
    const { page, complaints } = await dashboard.visit('/device')
    await page.getByLabel('Code').fill('WRONG123')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('This code is unknown').waitFor()
    await page.getByLabel('Code').fill(`${code.slice(0, 4)}-${code.slice(4).toLowerCase()}`)
    await fits(page, 'device-code')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Gateway command line').waitFor()
    await page.getByText('Search images and text').waitFor()
    await screenshot(page, 'device')
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByText('Access allowed. You can return').waitFor()
    await page.close()
    expect(complaints().filter((line) => !line.includes('/api/auth/device?'))).toEqual([])
    expect(owner.accountId).toStartWith('acct_')
  })
})
