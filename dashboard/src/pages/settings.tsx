import { useMay } from '../api/account/account.ts'
import { EmailCard } from '../features/settings/email-card.tsx'
import { PasswordCard } from '../features/settings/password-card.tsx'
import { ProfileCard } from '../features/settings/profile-card.tsx'
import { ThemeCard } from '../features/settings/theme-card.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Page } from '../ui/layout/page.tsx'

// Below the first figures, or on a tab of its own.
const SecondFactorCard = lazyPart(() =>
  import('../features/settings/second-factor-card.tsx').then(({ SecondFactorCard }) => SecondFactorCard),
)
const IdentitiesCard = lazyPart(() =>
  import('../features/sign-in/identities-card.tsx').then(({ IdentitiesCard }) => IdentitiesCard),
)
const SessionsCard = lazyPart(() =>
  import('../features/settings/sessions-card.tsx').then(({ SessionsCard }) => SessionsCard),
)
const DataCard = lazyPart(() => import('../features/settings/data-card.tsx').then(({ DataCard }) => DataCard))

const NoticeMailCard = lazyPart(() =>
  import('../features/settings/notice-mail-card.tsx').then(({ NoticeMailCard }) => NoticeMailCard),
)

export function Settings() {
  const isOwner = useMay('workspace:own')
  const mayRead = useMay('settings:read')
  return (
    <Page title={SHELL_TEXT.pagesOf.settings}>
      <ProfileCard />
      <EmailCard />
      <PasswordCard />
      <IdentitiesCard />
      <SecondFactorCard />
      <SessionsCard />
      <ThemeCard />
      {mayRead && <NoticeMailCard />}
      {isOwner && <DataCard />}
    </Page>
  )
}
