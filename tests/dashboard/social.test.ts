import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { becomes, type Dashboard, DESK, follow, openDashboard } from '../support/dashboard/browser'
import { fits } from '../support/dashboard/page-checks'
import { comeBack, confirmed, decide } from '../support/social/linked-key'

setDefaultTimeout(120_000)

type Owner = Awaited<ReturnType<Dashboard['signedIn']>>

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

async function makeKey(owner: Owner, name: string): Promise<{ id: string; secret: string }> {
  const made = await (await owner.api('/api/keys', { name })).json()
  return { id: made.key.id, secret: made.secret }
}
const act = async (secret: string, name: string, body: unknown) => {
  const answer = await dashboard.as(secret, `/apis/v1/social/${name}_social`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return {
    status: answer.status,
    ...((await answer.json()) as { data: Record<string, string>; error?: { code: string } }),
  }
}
const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

async function looksWell(page: Page, name: string, shown: string): Promise<void> {
  await page.getByText(shown).first().waitFor()
  await fits(page, name)
}

/** Creates the link, whose consent page a person would open in a tab of its own. */
async function createdLink(page: Page): Promise<{ auth_url: string }> {
  await page.getByRole('button', { name: 'Create link' }).click()
  return { auth_url: (await page.getByRole('link', { name: 'Open social network' }).getAttribute('href')) ?? '' }
}

describe('social accounts', () => {
  test('a person links an account, an app acts as it, and the timeline shows it', async () => {
    const owner = await dashboard.signedIn()
    const key = await makeKey(owner, 'my app')
    const { page, complaints } = await dashboard.visit('/social')
    await row(page, 'my app').getByText('Not linked').waitFor()
    await looksWell(page, 'social-none', 'my app')

    await page.getByRole('button', { name: 'Link account: my app' }).click()
    const form = page.getByRole('dialog', { name: 'Link a social account' })
    await form.waitFor()
    await becomes(() => form.getByRole('checkbox', { checked: true }).count(), 7)
    await looksWell(page, 'social-form', 'Link a social account')
    await page.getByRole('button', { name: 'Create link' }).click()
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: 'Open social network' }).click(),
    ])
    await tab.getByRole('heading', { name: 'Allow this gateway to use your account?' }).waitFor()
    const waiting = page.getByRole('dialog', { name: 'Waiting for approval' })
    await waiting.getByText(/^(10:00|9:\d\d) left$/).waitFor()
    await looksWell(page, 'social-waiting', 'Waiting for approval')
    await fits(tab, 'sandbox-consent')
    await tab.getByLabel(/Grace Hopper/).check()
    await tab.getByRole('button', { name: 'Allow access' }).click()
    await tab.getByRole('heading', { name: 'Allow this app to act as @grace?' }).waitFor()
    await tab.getByText('my app').waitFor()
    await looksWell(tab, 'social-confirm', 'Your account is not linked yet.')
    await waiting.getByText(/left$/).waitFor()
    await tab.getByRole('button', { name: 'Link @grace' }).click()
    await tab.getByRole('heading', { name: '@grace is linked' }).waitFor()
    await looksWell(tab, 'social-callback', '@grace is linked')
    await tab.close()
    await page.getByRole('dialog', { name: '@grace is linked' }).getByText('now act as Grace Hopper').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.setViewportSize(DESK)
    await row(page, 'my app').getByText('@grace').waitFor()
    await row(page, 'my app').getByText('7 of 7').waitFor()

    const post = await act(key.secret, 'post', { content: 'Hello from the app' })
    const id = post.data['id']
    const said = [
      post.status,
      (await act(key.secret, 'like', { tweet_id: id })).status,
      (await act(key.secret, 'post', { content: 'A reply', in_reply_to_tweet_id: id })).status,
      (await act(key.secret, 'post', { content: 'A quote', quote_tweet_id: id })).status,
      (await act(key.secret, 'follow', { target_user_id: '1001' })).status,
      (await act(key.secret, 'dm', { recipient_id: '1001', text: 'Hello Ada' })).status,
    ]
    expect(said).toEqual([200, 200, 200, 200, 200, 200])
    const gone = await act(key.secret, 'post', { content: 'Soon gone' })
    expect((await act(key.secret, 'delete', { tweet_id: gone.data['id'] })).status).toBe(200)

    const network = await dashboard.visit('/sandbox/social')
    const card = network.page.locator(`#post-${id}`)
    await card.getByText('Hello from the app').waitFor()
    await card.getByText('Liked by @grace').waitFor()
    for (const words of ['A reply', `replies to ${id}`, 'A quote', `quotes ${id}`, '@grace follows @ada'])
      await network.page.getByText(words).first().waitFor()
    expect(await network.page.getByText('Soon gone').count()).toBe(0)
    await looksWell(network.page, 'sandbox-timeline', 'Hello from the app')
    await network.page.getByRole('link', { name: 'People' }).click()
    await network.page.getByRole('link', { name: 'Apps and messages of @ada' }).click()
    await network.page.getByText('Hello Ada').waitFor()
    await looksWell(network.page, 'sandbox-person', 'Hello Ada')
    expect(network.complaints()).toEqual([])
    await network.page.close()

    await follow(page, `/keys/${key.id}`)
    await page.getByText('@grace (Grace Hopper)').waitFor()
    await page.getByText('Social account linked', { exact: true }).waitFor()
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('refused, cancelled, a missing permission, and unlinked: each says so and what to do', async () => {
    const owner = await dashboard.signedIn()
    const key = await makeKey(owner, 'the app')
    const { page, complaints } = await dashboard.visit('/social')
    await page.getByRole('button', { name: 'Link account: the app' }).click()
    await comeBack(dashboard, await decide(dashboard, await createdLink(page), 'deny'))
    await page.getByText('Access was denied. No account was linked.').waitFor()
    await page.getByRole('button', { name: 'Try again', exact: true }).click()
    for (const words of ['Like and unlike', 'Send messages', 'Read messages', 'Follow and unfollow'])
      await page.getByLabel(words).uncheck()
    await confirmed(dashboard, await decide(dashboard, await createdLink(page)))
    await page.getByRole('button', { name: 'Done' }).click()
    await row(page, 'the app').getByText('3 of 7').waitFor()
    expect((await act(key.secret, 'like', { tweet_id: '1' })).error?.code).toBe('insufficient_scope')
    await row(page, 'the app').getByText('A request needed the permission "Like and unlike".').waitFor()
    await row(page, 'the app').getByText('Missing permission').first().waitFor()
    await fits(page, 'social-missing')

    await page.getByRole('button', { name: 'Add permission: the app' }).click()
    await createdLink(page)
    await page.getByRole('button', { name: 'Close and keep link' }).click()
    await row(page, 'the app').getByText('Pending').waitFor()

    await page.getByRole('button', { name: 'Unlink the account of the app' }).click()
    const asked = page.getByRole('alertdialog', { name: 'Unlink @ada' })
    await asked.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Unlink the account of the app' }).click()
    await asked.getByRole('button', { name: 'Unlink' }).click()
    await row(page, 'the app').getByText('Not linked').waitFor()
    expect((await act(key.secret, 'post', { content: 'x' })).error?.code).toBe('social_session_required')
    await page.close()
    expect(complaints()).toEqual([])
  })
})
