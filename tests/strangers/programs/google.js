// Uploads a file with Google's clients for Node, as their documentation shows: google.js JOB FILE.
const fs = require('fs');
const path = require('path');
const load = name => require(require.resolve(name, {paths: [process.env.NODE_PACKAGES]}));
const scope = name => ({scopes: [`https://www.googleapis.com/auth/${name}`]});

async function object(file, resumable) {
  const {Storage} = load('@google-cloud/storage');
  const preconditionOpts = {ifGenerationMatch: 0};
  const options = {destination: path.basename(file), resumable, chunkSize: 1 << 20, validation: 'crc32c', preconditionOpts};
  await new Storage().bucket('bucket').upload(file, options);
}

async function release(file) {
  const {androidpublisher, auth} = load('@googleapis/androidpublisher');
  const {edits} = androidpublisher({version: 'v3', auth: new auth.GoogleAuth(scope('androidpublisher'))});
  const app = {packageName: 'com.example.app'};
  const edit = {...app, editId: (await edits.insert(app)).data.id};
  const media = {mimeType: 'application/octet-stream', body: fs.createReadStream(file)};
  const {versionCode} = (await edits.bundles.upload({...edit, media})).data;
  const releases = [{status: 'completed', versionCodes: [String(versionCode)]}];
  await edits.tracks.update({...edit, track: 'internal', requestBody: {track: 'internal', releases}});
  await edits.commit(edit);
}

async function drive(file) {
  const {drive, auth} = load('@googleapis/drive');
  const {files} = drive({version: 'v3', auth: new auth.GoogleAuth(scope('drive.file'))});
  const media = {mimeType: 'application/zip', body: fs.createReadStream(file)};
  await files.create({requestBody: {name: path.basename(file)}, media});
}

async function mail(file) {
  const {gmail, auth} = load('@googleapis/gmail');
  const keyFile = process.env.GOOGLE_APPLICATION_CREDENTIALS;
  const client = gmail({version: 'v1', auth: new auth.JWT({keyFile, subject: 'me@example.com', ...scope('gmail.send')})});
  const media = {mimeType: 'message/rfc822', body: fs.createReadStream(file)};
  await client.users.messages.send({userId: 'me', media});
}

const JOBS = {object: file => object(file, true), 'object-at-once': file => object(file, false), release, file: drive, mail};
const [job, file] = process.argv.slice(2);
JOBS[job](file).catch(error => {
  console.error(error.message, error.stack);
  process.exit(1);
});
