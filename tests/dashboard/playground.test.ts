import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ok } from '../../server/core/result'
import { becomes, type Dashboard, openDashboard } from '../support/dashboard/browser'
import { fits } from '../support/dashboard/page-checks'

type Owner = Awaited<ReturnType<Dashboard['signedIn']>>

let dashboard: Dashboard

beforeAll(async () => {
  dashboard = await openDashboard()
  await dashboard.signedIn()
  const picture = (name: string) => ({
    title: `A picture of ${name}`,
    url: `https://pictures.example/${name}`,
    thumbnail: { src: `${dashboard.origin}/media/lucide/${name}.svg` },
  })
  const results = ['credit-card', 'wallet', 'house'].map(picture)
  dashboard.images.answer = async () => ok({ body: JSON.stringify({ type: 'images', results }) })
})
afterAll(() => dashboard.close())

async function makeKey(owner: Owner, body: Record<string, unknown>): Promise<{ id: string; secret: string }> {
  const made = await (await owner.api('/api/keys', body)).json()
  return { id: made.key.id, secret: made.secret }
}

describe('the playground', () => {
  test('sends with the session, charges the chosen key, and shows pictures from this origin only', async () => {
    const owner = await dashboard.signedIn()
    const { id } = await makeKey(owner, { name: 'tries', spending_limit: 1 })
    const { page, complaints } = await dashboard.visit('/playground')
    await page.getByRole('heading', { name: 'Image search' }).waitFor()
    await page.getByLabel('q', { exact: true }).fill('house')
    await page.waitForURL('**house**')
    await page.getByRole('button', { name: 'Send request · $0.005' }).click()
    await page.getByText('$0.005 charged').waitFor()
    await page.getByText('A picture of wallet').waitFor()
    const drawn = await page
      .getByRole('main')
      .locator('img')
      .first()
      .evaluate((img) => (img as HTMLImageElement).naturalWidth)
    expect(drawn).toBeGreaterThan(0)
    const { key } = await (await owner.api(`/api/keys/${id}`)).json()
    expect(key.spent_micros_usd).toBe(5000)
    await fits(page, 'playground')
    await page.getByRole('tab', { name: 'Headers' }).click()
    await page.getByText('Requests left this minute', { exact: true }).waitFor()
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('waits with sending until it knows the keys, so that no click is lost', async () => {
    const owner = await dashboard.signedIn()
    await makeKey(owner, { name: 'late' })
    const { page, complaints } = await dashboard.visit('/notices')
    const known = Promise.withResolvers<void>()
    // Alone, or with other reads of the page in one.
    const isOfKeys = ({ href }: URL) => decodeURIComponent(href).includes('status=active')
    await page.route(isOfKeys, async (route) => {
      await known.promise
      await route.continue()
    })
    await page.getByRole('link', { name: 'Playground', exact: true }).click()
    const send = page.getByRole('button', { name: /^Send request/ })
    await send.waitFor()
    expect(await send.getAttribute('aria-disabled')).toBe('true')
    known.resolve()
    await send.click()
    await page.getByText('$0.005 charged').waitFor()
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('keeps curl, JavaScript and Python in sync with the form, and the key out of all of them and of the address', async () => {
    const owner = await dashboard.signedIn()
    const { secret } = await makeKey(owner, { name: 'pasted' })
    const { page, complaints } = await dashboard.visit('/playground')
    await page.getByLabel('q', { exact: true }).fill("it's red")
    await page.getByText(/^More options/).click()
    await page.getByLabel('count', { exact: true }).fill('3')
    await page.getByLabel('safesearch', { exact: true }).selectOption('off')
    await page.getByLabel('Another key').check()
    await page.getByLabel('API key', { exact: true }).fill(secret)
    const code = page.getByRole('region', { name: 'The request as code' })
    for (const language of ['curl', 'JavaScript', 'Python']) {
      await page.getByRole('tab', { name: language }).click()
      const text = (await code.textContent()) ?? ''
      expect(text).toContain('count=3')
      expect(text).toContain('safesearch=off')
      expect(text).toContain('GATEWAY_API_KEY')
      expect(text).not.toContain(secret)
    }
    await page.keyboard.press('Control+Enter')
    await page.getByLabel('q', { exact: true }).press('Control+Enter')
    await page.getByText('$0.005 charged').waitFor()
    expect(page.url()).not.toContain(secret)
    expect(dashboard.images.asked.at(-1)).toMatchObject({ q: "it's red", count: 3, safesearch: 'off' })
    await page.reload()
    await becomes(() => page.getByLabel('q', { exact: true }).inputValue(), "it's red")
    expect(await page.content()).not.toContain(secret)
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('shows the 402 challenge of an unpaid call', async () => {
    await dashboard.signedIn()
    const { page } = await dashboard.visit('/playground')
    await page.getByLabel('No key: show the 402 challenge').check()
    await page.getByRole('button', { name: /^Send request/ }).click()
    await page.getByText(/^This request costs .* Send an API key/).waitFor()
    await page.getByText('Nothing charged').waitFor()
    await page.close()
  })

  test('shows invalid input before sending: empty, too many words, a count out of range', async () => {
    const owner = await dashboard.signedIn()
    await makeKey(owner, { name: 'idle' })
    const asked = dashboard.images.asked.length
    const { page } = await dashboard.visit('/playground')
    await page.getByLabel('q', { exact: true }).fill('')
    await page.getByRole('button', { name: /^Send request/ }).click()
    await page.getByText('Enter a value.').waitFor()
    await page.getByLabel('q', { exact: true }).fill('word '.repeat(51))
    await page.getByText('Too long.').waitFor()
    await page.getByLabel('q', { exact: true }).fill('one two')
    await page.getByText('7 of 400 characters · 2 of 50 words').waitFor()
    await page.getByText(/^More options/).click()
    await page.getByLabel('count', { exact: true }).fill('201')
    await page.getByRole('button', { name: /^Send request/ }).click()
    await page.getByText('Enter a number from 1 to 200.').waitFor()
    expect(dashboard.images.asked.length).toBe(asked)
    await page.close()
  })
})
