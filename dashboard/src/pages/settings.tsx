import { lazy, Suspense } from 'react'
import { DataCard } from '../features/settings/data-card.tsx'
import { EmailCard } from '../features/settings/email-card.tsx'
import { PasswordCard } from '../features/settings/password-card.tsx'
import { ProfileCard } from '../features/settings/profile-card.tsx'
import { SecondFactorCard } from '../features/settings/second-factor-card.tsx'
import { SessionsCard } from '../features/settings/sessions-card.tsx'
import { ThemeCard } from '../features/settings/theme-card.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Page } from '../ui/layout/page.tsx'

const NoticeMailCard = lazy(() =>
  import('../features/settings/notice-mail-card.tsx').then(({ NoticeMailCard }) => ({ default: NoticeMailCard })),
)

export function Settings() {
  return (
    <Page title={SHELL_TEXT.pagesOf.settings}>
      <ProfileCard />
      <EmailCard />
      <PasswordCard />
      <SecondFactorCard />
      <SessionsCard />
      <ThemeCard />
      <Suspense>
        <NoticeMailCard />
      </Suspense>
      <DataCard />
    </Page>
  )
}
