// Uploads a file with Google's client for Go, as its documentation shows: google JOB FILE.
package main

import (
	"context"
	"log"
	"os"
	"path"

	"google.golang.org/api/androidpublisher/v3"
	"google.golang.org/api/drive/v3"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/storage/v1"
)

var chunks = googleapi.ChunkSize(1 << 20)

func object(file *os.File) error {
	service, err := storage.NewService(context.Background())
	if err != nil {
		return err
	}
	named := &storage.Object{Name: path.Base(file.Name())}
	_, err = service.Objects.Insert("bucket", named).IfGenerationMatch(0).Media(file, chunks).Do()
	return err
}

func toDrive(file *os.File) error {
	service, err := drive.NewService(context.Background())
	if err != nil {
		return err
	}
	_, err = service.Files.Create(&drive.File{Name: path.Base(file.Name())}).Media(file, chunks).Do()
	return err
}

func release(file *os.File) error {
	const app, track = "com.example.app", "internal"
	service, err := androidpublisher.NewService(context.Background())
	if err != nil {
		return err
	}
	edit, err := service.Edits.Insert(app, nil).Do()
	if err != nil {
		return err
	}
	octets := googleapi.ContentType("application/octet-stream")
	bundle, err := service.Edits.Bundles.Upload(app, edit.Id).Media(file, chunks, octets).Do()
	if err != nil {
		return err
	}
	release := &androidpublisher.TrackRelease{Status: "completed", VersionCodes: []int64{bundle.VersionCode}}
	live := &androidpublisher.Track{Track: track, Releases: []*androidpublisher.TrackRelease{release}}
	if _, err = service.Edits.Tracks.Update(app, edit.Id, track, live).Do(); err != nil {
		return err
	}
	_, err = service.Edits.Commit(app, edit.Id).Do()
	return err
}

func main() {
	file, err := os.Open(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	jobs := map[string]func(*os.File) error{"object": object, "file": toDrive, "release": release}
	if err = jobs[os.Args[1]](file); err != nil {
		log.Fatal(err)
	}
}
