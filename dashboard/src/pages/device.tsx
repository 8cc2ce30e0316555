import { DeviceForm } from '../features/apps/device-form.tsx'
import { APP_TEXT as TEXT } from '../messages/apps.ts'
import { AuthLayout } from '../ui/layout/auth-layout.tsx'

/** `/device`: a terminal or device without a browser requests access (RFC 8628). */
export function Device() {
  const code = new URLSearchParams(window.location.search).get('user_code') ?? ''
  return (
    <AuthLayout title={TEXT.deviceTitle}>
      <DeviceForm code={/^[A-Za-z0-9-]{1,20}$/.test(code) ? code : ''} />
    </AuthLayout>
  )
}
