import { expect, test } from 'bun:test'
import { brakeShareOf } from '../../server/compose/cluster/cells/cell-membership'
import { openMailers } from '../../server/compose/owner-mail'
import { openLog } from '../../server/log'
import { FakeClock, readTestConfig } from '../support/harness'
import { openMailbox } from '../support/mailbox'

test('the gateways of three cells together send an address no more links than one alone', async () => {
  const mailbox = await openMailbox()
  const config = readTestConfig({ SMTP_URL: mailbox.url, MAIL_FROM: 'gateway@example.com' })
  const log = openLog('info', () => undefined)
  const all = ['main', 'c2', 'c3']
  const sent = async (places: readonly Parameters<typeof brakeShareOf>[0][]) => {
    for (const place of places) {
      const { linkMailer } = openMailers(config, { clock: new FakeClock({}), log, brakeShareOf: brakeShareOf(place) })
      const mail = { to: 'ada@example.com', subject: 'A link', text: 'https://example.com' }
      for (let i = 0; i < 12; i++) await linkMailer?.send(mail)
    }
    return mailbox.received.splice(0).length
  }
  expect(await sent([undefined])).toBe(10)
  // Half of them at `main`, and two of five in each of the others.
  expect(await sent(all.map((name) => ({ name, all })))).toBe(9)
  await mailbox.close()
})
