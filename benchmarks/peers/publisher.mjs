// Sends a file with Google's Node client for Play, which the most used upload action contains.
import { createReadStream } from 'node:fs';
import publisher from '@googleapis/androidpublisher';

const [root, file] = process.argv.slice(2);
// It knows no token endpoint but Google's own, so it gets a token here and saves that round trip.
const auth = new publisher.auth.OAuth2();
auth.setCredentials({ access_token: 'sink', expiry_date: Date.now() + 3600e3 });
const client = publisher.androidpublisher({ version: 'v3', auth });
await client.edits.bundles.upload({
  packageName: 'com.example',
  editId: '1',
  media: { mimeType: 'application/octet-stream', body: createReadStream(file) },
}, { rootUrl: root + '/' });
