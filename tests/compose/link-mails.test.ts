import { expect, test } from 'bun:test'
import { openMailers } from '../../server/compose/owner-mail'
import { openLog } from '../../server/log'
import { FakeClock, readTestConfig } from '../support/harness'
import { openMailbox } from '../support/mailbox'

test('an address gets at most ten mails with links within an hour', async () => {
  const mailbox = await openMailbox()
  const config = readTestConfig({ SMTP_URL: mailbox.url, MAIL_FROM: 'gateway@example.com' })
  const { linkMailer } = openMailers(config, { clock: new FakeClock({}), log: openLog('info', () => undefined) })
  const mail = { to: 'ada@example.com', subject: 'A link', text: 'https://example.com' }
  for (let i = 0; i < 12; i++) await linkMailer?.send(mail)
  expect(mailbox.received).toHaveLength(10)
  await mailbox.close()
})
