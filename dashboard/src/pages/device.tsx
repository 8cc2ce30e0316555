import { DeviceForm } from '../features/apps/device-form.tsx'
import { DoorPage } from '../ui/door-page.tsx'
import { APP_WORDS as WORDS } from '../words/apps.ts'

/** `/device`: a terminal or device without a browser asks for access (RFC 8628). */
export function Device() {
  const code = new URLSearchParams(window.location.search).get('user_code') ?? ''
  return (
    <DoorPage title={WORDS.deviceTitle}>
      <DeviceForm code={/^[A-Za-z0-9-]{1,20}$/.test(code) ? code : ''} />
    </DoorPage>
  )
}
