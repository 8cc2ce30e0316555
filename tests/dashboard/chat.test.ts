import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import type { AccountId } from '../../server/core/ids'
import { becomes, type Dashboard, follow } from '../support/dashboard/browser'
import { openModelDashboard } from '../support/dashboard/model-dashboard'
import { fits, left } from '../support/dashboard/page-checks'
import { seedCalls } from '../support/databases/seed-calls'
import { eventStream, openAi, type VendorDouble } from '../support/vendor-double'

let vendor: VendorDouble
let dashboard: Dashboard
let close: () => Promise<void>
beforeAll(async () => {
  ;({ vendor, dashboard, close } = await openModelDashboard([
    { id: 'acme/large', recharge_required: false, max_output_tokens: 1000 },
    { id: 'acme/top-up' },
  ]))
})
afterAll(() => close())

/** An owner with a key, at the chat. */
async function atChat(path = '/playground?view=chat') {
  const owner = await dashboard.signedIn()
  const made = await (await owner.api('/api/keys', { name: 'talks' })).json()
  const spent = async (): Promise<number> =>
    (await (await owner.api(`/api/keys/${made.key.id}`)).json()).key.spent_micros_usd
  const tab = await dashboard.visit(path)
  return { owner, key: made.key as { id: string }, secret: String(made.secret), spent, tab, page: tab.page }
}
const say = async (page: Page, text: string) => {
  await page.getByLabel('Your message').fill(text)
  await page.getByLabel('Your message').press('Control+Enter')
}
const said = (page: Page) => page.getByRole('log', { name: 'Conversation' })
const cap = (page: Page) => page.getByLabel('Max output tokens')

describe('the chat of the playground', () => {
  test('works on a fresh install: a free model streams on each wire, remembers the conversation, and costs nothing', async () => {
    const { tab, page } = await atChat('/playground')
    await page.getByRole('tab', { name: 'Chat with a model' }).click()
    await page.waitForURL('**view=chat**')
    await page.getByRole('button', { name: 'Send · free' }).waitFor()
    expect(await page.getByLabel('Model', { exact: true }).inputValue()).toBe('sandbox/echo')
    for (const [format, message] of [
      ['OpenAI', 'The first thing.'],
      ['Anthropic', 'The second thing.'],
      ['Google', 'The third thing.'],
    ] as const) {
      await page.getByLabel('Format').selectOption({ label: format })
      await say(page, message)
      // The demand and its echo.
      await said(page).getByText(message).nth(1).waitFor()
      await page.getByText('Nothing charged', { exact: true }).waitFor()
      await page.getByText('Reported by the model (exact)').waitFor()
    }
    expect(await said(page).getByRole('article').count()).toBe(6)
    await page.getByLabel('Stream the response').uncheck()
    await say(page, 'All at once.')
    await said(page).getByText('All at once.').nth(1).waitFor()
    await page.getByText('Nothing charged', { exact: true }).waitFor()
    await fits(page, 'chat')
    await page.getByRole('button', { name: 'Start over' }).click()
    await page.getByText('No messages yet.').waitFor()
    await left(tab)
  })

  test('shows the maximum cost before sending, and the actual cost after, to the micro-dollar', async () => {
    const { tab, page, spent } = await atChat('/playground?view=chat&model=acme%2Flarge')
    vendor.answer = () => eventStream(openAi.words(['One ', 'two'], { input: 100, output: 40, cached: 60 }))
    await page.getByText('$2.50 input, $10.00 output per million tokens').waitFor()
    await cap(page).fill('50')
    await page.getByLabel('System prompt').fill('Count.')
    await page.getByLabel('Temperature').fill('0.5')
    const button = page.getByRole('button', { name: /^Send · up to \$0\.00/ })
    await button.waitFor()
    await page.getByLabel('Your message').fill('Go on.')
    await button.click()
    await said(page).getByText('One two').waitFor()
    await page.getByText('$0.000575 charged').waitFor()
    await page.getByText('100 in, 40 out').waitFor()
    await page.getByText('60 read from cache, 0 written to cache').waitFor()
    await page.getByText('= 0.000575 USD').waitFor()
    expect(await spent()).toBe(575)
    expect(vendor.received.at(-1)?.body).toMatchObject({
      model: 'acme/large',
      messages: [
        { role: 'system', content: 'Count.' },
        { role: 'user', content: 'Go on.' },
      ],
      max_tokens: 50,
      temperature: 0.5,
      stream: true,
    })
    await page.getByRole('link', { name: 'View in request log' }).click()
    await page.getByRole('table', { name: 'Request log' }).getByText('acme/large').waitFor()
    await left(tab)
  })

  test('stops in the middle: the text so far stays, the model completes, all of it is charged, and the button says so', async () => {
    const { tab, page, owner, key, spent } = await atChat('/playground?view=chat&model=acme%2Flarge')
    const stopped = Promise.withResolvers<void>()
    vendor.answer = () => {
      const words = [openAi.chunk({ role: 'assistant', content: '' }), openAi.chunk({ content: 'y'.repeat(80) })]
      return eventStream(words, async (controller) => {
        await stopped.promise
        const rest = [openAi.chunk({}, 'stop'), openAi.total({ input: 30, output: 90 }), openAi.done]
        for (const event of rest) controller.enqueue(new TextEncoder().encode(event))
        controller.close()
      })
    }
    await cap(page).fill('100')
    await say(page, 'Talk for ever.')
    await said(page).getByText('y'.repeat(80)).waitFor()
    await page.getByText('Stop hides the rest. The model still finishes, and the full response is charged.').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Stopped. The model still finishes, and the full response is charged.').waitFor()
    stopped.resolve()
    await page.getByText('Reported by the model (exact)').waitFor()
    await page.getByText(/^\$0\.00\d+ charged$/).waitFor()
    await page.getByText(/in, 90 out$/).waitFor()
    expect(await spent()).toBeGreaterThan(200)
    await page.getByRole('button', { name: /^Send/ }).waitFor()
    // Of the call above it has the code only if the gateway saw the hang-up before the end.
    const id = owner.accountId as AccountId
    await seedCalls(dashboard, { id }, { key: key.id, count: 1, status: 200, code: 'caller_hung_up' })
    const { requests } = await (await owner.api('/api/requests?search=caller_hung_up')).json()
    await follow(page, `/requests/${requests[0].id}`)
    await page.getByRole('region', { name: 'How it ended' }).getByText('The caller hung up').waitFor()
    expect(await page.getByText('Why it failed').count()).toBe(0)
    // Its charge was asked for before it was written down.
    await left(tab, [/404 .*\/api\/requests\/playground-/])
  })

  test('explains a failure in plain words, charges nothing, and keeps the message', async () => {
    const { tab, page, owner, key, spent } = await atChat('/playground?view=chat&model=acme%2Ftop-up')
    await page.getByText('Requires a first top-up').waitFor()
    await cap(page).fill('100')
    await say(page, 'Hello there.')
    await page.getByText('acme/top-up requires a first top-up.').waitFor()
    await page.getByText('Nothing charged', { exact: true }).waitFor()
    // A text that brought nothing is in its field again.
    const again = async () => {
      await becomes(() => page.getByLabel('Your message').inputValue(), 'Hello there.')
      await page.getByRole('button', { name: /^Send/ }).click()
    }
    await page.getByLabel('Model', { exact: true }).selectOption('acme/large')
    vendor.answer = () => openAi.error(500, {})
    await again()
    await page.getByText('The upstream provider returned an error. You were not charged.').waitFor()
    vendor.answer = () => openAi.error(400, { message: 'Those words are not allowed.' })
    await again()
    await page.getByText('Those words are not allowed.').waitFor()
    await owner.api(`/api/keys/${key.id}`, { allowed_models: ['sandbox/echo'] }, 'PATCH')
    await page.getByText("This model is not in the key's list of allowed models.").waitFor()
    await again()
    await page.getByText("acme/large is not in this key's list of allowed models.").waitFor()
    await page.getByRole('link', { name: 'Edit key' }).waitFor()
    await cap(page).fill('5000')
    await page.getByText('Enter a whole number from 1 to 1,000.').waitFor()
    await page.getByLabel('Temperature').fill('3')
    await page.getByText('Enter a number from 0 to 2.').waitFor()
    expect(await spent()).toBe(0)
    await left(tab, [/Failed to load resource: the server responded with a status of (400|402|403|502)/])
  })

  test('sends as soon as it is known which key pays', async () => {
    const known = Promise.withResolvers<void>()
    const isOfKeys = ({ href }: URL) => decodeURIComponent(href).includes('status=active')
    await dashboard.browser.route(isOfKeys, async (route) => {
      await known.promise
      await route.continue()
    })
    const { tab, page } = await atChat()
    await say(page, 'In a hurry.')
    known.resolve()
    await said(page).getByText('In a hurry.').nth(1).waitFor()
    await dashboard.browser.unrouteAll({ behavior: 'wait' })
    await left(tab)
  })

  test('works with a pasted key, which is neither in the code nor in the address', async () => {
    const { tab, page, secret } = await atChat()
    await page.getByLabel('Another key').check()
    await say(page, 'Whoever pays.')
    await page.getByText('Enter an API key.').waitFor()
    await page.getByLabel('API key', { exact: true }).fill(secret)
    await page.getByLabel('Your message').press('Control+Enter')
    await said(page).getByText('Whoever pays.').nth(1).waitFor()
    await page.getByText('Nothing charged', { exact: true }).waitFor()
    const code = page.getByRole('region', { name: 'The request as code' })
    for (const language of ['curl', 'Python', 'TypeScript']) {
      await page.getByRole('tab', { name: language }).click()
      const text = (await code.textContent()) ?? ''
      expect(text).toContain('GATEWAY_API_KEY')
      expect(text).toContain('Whoever pays.')
      expect(text).not.toContain(secret)
    }
    expect(page.url()).not.toContain(secret)
    await left(tab)
  })
})
