# Uploads a file with Google's client for Ruby, as its documentation shows: google.rb JOB FILE.
require 'googleauth'
require 'google/apis/androidpublisher_v3'
require 'google/apis/drive_v3'
require 'google/apis/storage_v1'

def login(service, scope)
  key = File.open(ENV.fetch('GOOGLE_APPLICATION_CREDENTIALS'))
  service.authorization = Google::Auth::ServiceAccountCredentials.make_creds(json_key_io: key, scope: scope)
  service.request_options.retries = 3
  service
end

def object(file)
  storage = Google::Apis::StorageV1
  service = login(storage::StorageService.new, storage::AUTH_DEVSTORAGE_READ_WRITE)
  service.insert_object('bucket', storage::Object.new(name: File.basename(file)), upload_source: file,
                                                                                content_type: 'application/zip')
end

def release(file)
  play = Google::Apis::AndroidpublisherV3
  app = 'com.example.app'
  service = login(play::AndroidPublisherService.new, play::AUTH_ANDROIDPUBLISHER)
  edit = service.insert_edit(app)
  bundle = service.upload_edit_bundle(app, edit.id, upload_source: file, content_type: 'application/octet-stream')
  release = play::TrackRelease.new(status: 'completed', version_codes: [bundle.version_code])
  service.update_edit_track(app, edit.id, 'internal', play::Track.new(track: 'internal', releases: [release]))
  service.commit_edit(app, edit.id)
end

def file(file)
  drive = Google::Apis::DriveV3
  service = login(drive::DriveService.new, drive::AUTH_DRIVE_FILE)
  service.create_file(drive::File.new(name: File.basename(file)), upload_source: file, content_type: 'application/zip')
end

method(ARGV[0]).call(ARGV[1])
